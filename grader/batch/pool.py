"""Where submissions are graded: a pool has seats, and each seat grades one at a time.

The processes of this machine (``local``) and the workers of a cluster (``cluster``) are pools.
"""

from __future__ import annotations

from typing import Protocol

from grader.jobs.protocol import Job
from grader.report.model import Report


class Lost(Exception):
    """What graded a submission ended, ``times`` times, before it was done; the text says how."""

    def __init__(self, message: str, times: int = 1) -> None:
        super().__init__(message)
        self.times = times


class Grader(Protocol):
    """A place where one submission at a time is graded; used by one thread."""

    def grade(self, job: Job, *, submission_seconds: float, tries: int) -> Report:
        """Grade a job whose code may take so long; the report is an instructor's.

        Raises Lost, after at most so many tries, and GradingError for what no other job would be
        spared.
        """
        ...

    def close(self) -> None:
        """Let go of it; what it was doing is lost."""
        ...


class Pool(Protocol):
    """Where there are seats."""

    def size(self) -> int:
        """How many seats are of use at this moment; there may be more later."""
        ...

    def seat(self) -> Grader:
        """A further seat."""
        ...
