"""Where submissions are graded: a pool makes graders, each of which grades one at a time.

The processes of this machine (``local``) and the workers of a cluster (``cluster``) are pools.
"""

from __future__ import annotations

from typing import Protocol

from grader.jobs.protocol import Job
from grader.report.model import Report


class GraderLost(Exception):
    """The process that graded a submission ended too early, ``times`` times; the text says how."""

    def __init__(self, message: str, times: int = 1) -> None:
        super().__init__(message)
        self.times = times


class Grader(Protocol):
    """Grades one submission at a time; used by one thread."""

    def grade(self, job: Job, *, submission_seconds: float, tries: int) -> Report:
        """Grade a job whose code may take ``submission_seconds``; the report is an instructor's.

        Raises GraderLost after at most ``tries`` tries, and GradingError for an error that every
        other job would meet too.
        """
        ...

    def close(self) -> None:
        """End it; the submission that it was grading is lost."""
        ...


class Pool(Protocol):
    """Makes graders, as many as are of use."""

    def size(self) -> int:
        """How many graders are of use now; the number may grow later."""
        ...

    def new_grader(self) -> Grader:
        """A further grader."""
        ...
