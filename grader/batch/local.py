"""Grading on this machine: a warm process for each seat."""

from __future__ import annotations

from grader.batch.pool import SPARE_SECONDS, Lost
from grader.jobs.client import GradingError, GradingProcess
from grader.jobs.protocol import Job
from grader.processes import cores
from grader.report.model import Report


class LocalPool:
    """``jobs`` seats, by default one for each core that this process may use."""

    def __init__(self, jobs: int | None = None, *, isolate: bool = False) -> None:
        self._isolate = isolate
        self._jobs = jobs or cores.available()

    def size(self) -> int:
        return self._jobs

    def seat(self) -> LocalGrader:
        return LocalGrader(isolate=self._isolate)


class LocalGrader:
    """A grading process that is started when it is needed, and again after it was lost."""

    def __init__(self, *, isolate: bool = False) -> None:
        self.isolate = isolate
        self._process: GradingProcess | None = None

    def grade(self, job: Job, *, submission_seconds: float, tries: int) -> Report:
        """Grade a job; raises as :class:`grader.batch.pool.Grader` says, Lost after one try."""
        if self._process is None:
            self._process = GradingProcess(isolate=self.isolate)
        try:
            return self._process.grade(job, most_silent=submission_seconds + SPARE_SECONDS)
        except GradingError as error:
            if error.wrong_course or error.for_every_job:
                raise
            self.close()
            raise Lost(str(error)) from None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None
