"""Runs checks on trusted source, thousands of times in one process, without a worker."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import torch

from grader.course.model import Assignment, CourseError
from grader.execution import loading
from grader.execution.executor import Executor
from grader.execution.forbidden import find_forbidden
from grader.session.checks.context import CheckContext
from grader.session.errors import StudentError, TooLong, student_error
from grader.session.student.transport import LocalTransport
from grader.wire.errors import WorkerTimeout
from grader.wire.messages import ForbiddenUse

SHARE_OF_LIMIT = 0.2
"""Of what the assignment lets a check take: processor time for one case here, without a worker.

A mutant can loop for ever, and a right answer that trains may take a second or two.
"""


class SourceContext(CheckContext):
    """A context for trusted source that runs in this process."""

    def __init__(self, assignment: Assignment, source: str, *, seed: int) -> None:
        self._source = source
        executor = Executor(own_process=False)
        self._broken: StudentError | None = None
        try:
            executor.use(loading.load_source(source, "<variant>", "grader_variant"))
        except Exception as error:
            self._broken = student_error(executor.describe(error))
        super().__init__(assignment, LocalTransport(executor), seed=seed)

    def begin(self, name: str, *, seed: int | None = None) -> None:
        if self._broken is not None:
            raise self._broken
        super().begin(name, seed=seed)

    @property
    def forbidden_uses(self) -> list[ForbiddenUse]:
        return find_forbidden(self._source, self.assignment.forbidden)

    def limited(self) -> contextlib.AbstractContextManager[None]:
        return _deadline(SHARE_OF_LIMIT * self.assignment.limits.check_seconds)

    def attribute(self, error: BaseException | None) -> BaseException | None:
        if isinstance(error, TooLong):
            return WorkerTimeout("it took too long")
        return super().attribute(error)


def warm_up() -> None:
    """Have torch import what the device of shapes needs: a deadline within that breaks the rest."""
    torch.empty(1, device="meta").add(1)


def reference_source(assignment: Assignment) -> str:
    """The text of the reference; raises CourseError if there is none."""
    path: Path | None = assignment.reference
    if path is None:
        raise CourseError(f"{assignment.id} cannot be audited: its reference is not here")
    return path.read_text("utf-8")


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
