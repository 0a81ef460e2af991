"""One grading at a time in a warm process, which can be abandoned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from grader.jobs.client import GradingError
from grader.jobs.kept import KeptProcess
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
        self._kept = KeptProcess(isolate=isolate)
        self._thread: threading.Thread | None = None
        self._number = 0
        self._start_seconds: float | None = None

    def begin(self, job: Job) -> int:
        """Grade ``job``; returns the number under which word of it comes."""
        self._kept.start()  # here, since it ends with the thread that has started it
        self._number += 1
        self._thread = threading.Thread(target=self._grade, args=(job, self._number), daemon=True)
        self._thread.start()
        return self._number

    @property
    def patience(self) -> float | None:
        """For how many seconds to wait for a grading that is of no more use; None: to its end.

        As long as a new process would take to be ready: at worst, twice the best is waited.
        """
        return self._start_seconds

    def join(self) -> None:
        """Wait until nothing more comes of the grading."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def close(self) -> None:
        """End the process, and the grading with it."""
        self._kept.kill()
        self.join()
        self._kept.close()

    def _grade(self, job: Job, number: int) -> None:
        began = time.monotonic()

        def step(progress: Progress) -> None:
            if self._start_seconds is None:
                self._start_seconds = time.monotonic() - began
            self._on_word(number, progress)

        word: Word
        try:
            word = self._kept.grade(job, step)
        except GradingError as error:
            word = error
        self._on_word(number, word)
