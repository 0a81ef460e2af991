"""Grading on this machine: a warm process for each grader."""

from __future__ import annotations

from grader.batch.pool import GraderLost
from grader.jobs.client import GradingError
from grader.jobs.kept import KeptProcess
from grader.jobs.protocol import Job
from grader.processes import cores
from grader.report.model import Report


class LocalPool:
    """``jobs`` graders, by default one for each core that this process may use."""

    def __init__(self, jobs: int | None = None, *, isolate: bool = False) -> None:
        self._isolate = isolate
        self._jobs = jobs or cores.available()

    def size(self) -> int:
        return self._jobs

    def new_grader(self) -> LocalGrader:
        return LocalGrader(isolate=self._isolate)


class LocalGrader:
    """Grades in a process of this machine."""

    def __init__(self, *, isolate: bool = False) -> None:
        self._kept = KeptProcess(isolate=isolate)

    def grade(self, job: Job, *, submission_seconds: float, tries: int) -> Report:
        """As :class:`grader.batch.pool.Grader` says; raises GraderLost after one try."""
        try:
            return self._kept.grade(job, submission_seconds=submission_seconds)
        except GradingError as error:
            if error.wrong_course or error.for_every_job:
                raise
            raise GraderLost(str(error)) from None

    def close(self) -> None:
        """End the process."""
        self._kept.close()
