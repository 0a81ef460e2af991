"""One grading at a time in a warm process, which can be abandoned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from grader.jobs.client import GradingError, GradingProcess
from grader.jobs.protocol import Job, Progress
from grader.report.model import Report

Word: TypeAlias = Progress | Report | GradingError
"""What comes of a grading: steps, and at its end a report or what kept it from being made."""


class Gradings:
    """Grades the job it was given last; nothing more comes of one that was abandoned.

    ``on_word`` is called from a thread of its own. Everything else is for one thread alone.
    """

    def __init__(self, on_word: Callable[[int, Word], None], *, isolate: bool = False) -> None:
        self._on_word = on_word
        self._isolate = isolate
        self._process: GradingProcess | None = None
        self._thread: threading.Thread | None = None
        self._number = 0
        self._start_seconds: float | None = None

    def begin(self, job: Job) -> int:
        """Grade ``job``; returns the number under which word of it comes."""
        if self._process is None:
            self._process = GradingProcess(isolate=self._isolate)
        self._number += 1
        thread = threading.Thread(
            target=self._grade, args=(self._process, job, self._number), daemon=True
        )
        thread.start()
        self._thread = thread  # only now: an interruption may come before it can be joined
        return self._number

    @property
    def patience(self) -> float | None:
        """For how many seconds to wait for a grading that is of no more use; None: to its end.

        As long as a new process would take to be ready: at worst, twice the best is waited.
        """
        return self._start_seconds

    def ended(self, word: Report | GradingError) -> None:
        """Take note that the grading is over, and whether its process is still of use."""
        assert self._thread is not None
        self._thread.join()
        if isinstance(word, GradingError) and not word.wrong_course:
            self.close()

    def close(self) -> None:
        """End the process, and the grading with it."""
        if self._process is None:
            return
        self._process.kill()
        if self._thread is not None:
            self._thread.join()
        self._process.close()
        self._process = None

    def _grade(self, process: GradingProcess, job: Job, number: int) -> None:
        began = time.monotonic()

        def step(progress: Progress) -> None:
            if self._start_seconds is None:
                self._start_seconds = time.monotonic() - began
            self._on_word(number, progress)

        word: Word
        try:
            word = process.grade(job, step)
        except GradingError as error:
            word = error
        except OSError:
            return  # the process was closed before it was asked: nobody waits for word
        self._on_word(number, word)
