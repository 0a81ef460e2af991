"""What can go wrong between the trusted side and a worker."""

from __future__ import annotations


class SandboxError(Exception):
    """The sandbox itself failed; never the student's fault."""


class SandboxMissing(SandboxError):
    """A guarantee that was required does not hold here; the text says which and what to do."""


class WorkerLost(Exception):
    """A worker ended before it had answered. ``how`` says so in words."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class WorkerTimeout(WorkerLost):
    """A worker did not answer before its deadline, and was killed."""


class ProtocolError(WorkerLost):
    """A worker sent something that is not a well-formed message, and was killed."""


class OverBudget(WorkerLost):
    """A worker sent more than the trusted side takes, and was killed; ``how`` says what."""
