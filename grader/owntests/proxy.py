"""What the student's tests import: a module that passes each call on to the subject's process."""

from __future__ import annotations

import socket
import sys
import types
from typing import Any

import msgspec

from grader.course.model import Export
from grader.owntests import random_state
from grader.owntests.messages import Answered, Asked, ToWorker
from grader.report.model import Evidence
from grader.session.student.proxy import Student
from grader.wire import frames
from grader.wire.budget import Budget

_answers: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)


class Relay:
    """A transport to the subject through the trusted side."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.input_writes = 0
        self.inputs_closed = False
        self.curves: list[Evidence] = []
        self.budget = Budget()

    def ask(self, request: Any, blob: bytes | bytearray, expected: Any) -> tuple[Any, bytearray]:
        """What the subject answers to one request."""
        frames.send(self._sock, Asked(question=request, random=random_state.get()), blob)
        answered, data = frames.receive(self._sock, _answers)
        assert isinstance(answered, Answered)
        random_state.put(answered.random)
        return answered.reply, data

    def begin_check(self, seed: int) -> None:
        """Tests keep what they have made for as long as they like."""

    def require(self, export: str) -> None:
        """A right answer and a fault of one have every export."""


def install(name: str, exports: dict[str, Export], sock: socket.socket) -> None:
    """Let ``import name`` give the subject; what it returns is not checked."""
    as_written = {
        export: msgspec.structs.replace(
            described,
            returns=[],
            forward=described.forward and msgspec.structs.replace(described.forward, returns=[]),
        )
        for export, described in exports.items()
    }
    subject = Student(Relay(sock), as_written)
    module = types.ModuleType(name)
    for export in exports:
        setattr(module, export, getattr(subject, export))
    sys.modules[name] = module
