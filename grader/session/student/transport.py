"""Where requests about a student's module are answered."""

from __future__ import annotations

from typing import Protocol, TypeVar

from grader.execution.executor import Executor
from grader.report.model import Evidence
from grader.session.errors import GraderFault
from grader.wire.budget import Budget
from grader.wire.commands import Done, FromWorker
from grader.wire.messages import BeginCheck, Raised, Request, Unusable

R = TypeVar("R", bound=FromWorker)


class Transport(Protocol):
    """Takes requests to wherever the module lives."""

    input_writes: int
    """How often a call wrote into what it was given."""

    inputs_closed: bool
    """Whether what a call writes into its inputs is kept from whoever passed them."""

    budget: Budget
    """Counts what is held here of what comes back."""

    curves: list[Evidence]
    """The losses of each training of this check."""

    def ask(
        self, request: Request, blob: bytes | bytearray, expected: type[R]
    ) -> tuple[R | Raised | Unusable, bytes | bytearray]:
        """Answer one request; raises WorkerLost where the module lives in a process that ends."""
        ...

    def begin_check(self, seed: int) -> None:
        """Prepare for the next check."""
        ...

    def require(self, export: str) -> None:
        """Raise MissingExport if the module lacks ``export``."""
        ...


class LocalTransport:
    """Answers in this process; for trusted modules, such as the reference."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.input_writes = 0
        self.inputs_closed = False
        self.curves: list[Evidence] = []
        self.budget = Budget()

    def ask(
        self, request: Request, blob: bytes | bytearray, expected: type[R]
    ) -> tuple[R | Raised | Unusable, bytes | bytearray]:
        reply, data = self._executor.handle(request, blob)
        assert isinstance(reply, expected | Raised | Unusable)
        return reply, data

    def require(self, export: str) -> None:
        pass

    def begin_check(self, seed: int) -> None:
        self.curves = []
        self.ask(BeginCheck(seed=seed), b"", Done)


class TrustedReference(LocalTransport):
    """Answers for the reference, whose errors are the grader's own."""

    def ask(
        self, request: Request, blob: bytes | bytearray, expected: type[R]
    ) -> tuple[R | Raised | Unusable, bytes | bytearray]:
        reply, data = super().ask(request, blob, expected)
        if isinstance(reply, Raised) and "MemoryError" in (reply.type, *reply.bases):
            raise MemoryError
        if isinstance(reply, Raised | Unusable):
            raise GraderFault(f"the reference failed: {reply}")
        return reply, data
