"""A grading process that is kept for the next job, and replaced when it is of no more use."""

from __future__ import annotations

from collections.abc import Callable

from grader.jobs.client import GradingError, GradingProcess
from grader.jobs.protocol import Job, Progress
from grader.report.model import Report

SPARE_SECONDS = 180.0
"""Beyond what the student's code may take: importing torch, on a machine with much to do."""


class KeptProcess:
    """One job at a time; only ``kill`` is for any thread.

    The kernel ends the process with the thread that started it.
    """

    def __init__(self, *, isolate: bool = False) -> None:
        self.isolate = isolate
        self._process: GradingProcess | None = None
        self._killed = False

    def start(self) -> GradingProcess:
        """The process, another one after a kill; raises GradingError."""
        if self._killed:
            self.close()
        if self._process is None:
            self._process = GradingProcess(isolate=self.isolate)
        return self._process

    def grade(
        self,
        job: Job,
        on_progress: Callable[[Progress], None] = lambda _: None,
        *,
        submission_seconds: float | None = None,
    ) -> Report:
        """Grade one job; the report is an instructor's. Raises GradingError.

        A process that is silent for much longer than the student's code may take is given up.
        """
        most_silent = None if submission_seconds is None else submission_seconds + SPARE_SECONDS
        try:
            process = self._process or self.start()  # a kill meanwhile is for this job
            return process.grade(job, on_progress, most_silent=most_silent)
        except BaseException as error:
            # Otherwise it is the job's fault, and has been answered.
            if not isinstance(error, GradingError) or not (
                error.wrong_course or error.for_every_job
            ):
                self.close()
            raise

    def kill(self) -> None:
        """End the process; whoever waits for a report of it gets a GradingError."""
        process = self._process
        if process is not None:
            self._killed = True
            process.kill()

    def close(self) -> None:
        """End the process, until there is another job; a fork of its owner just lets go."""
        self._killed = False
        if self._process is not None:
            self._process.close()
            self._process = None
