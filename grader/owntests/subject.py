"""The worker that holds the code under test, and answers what its contract offers."""

from __future__ import annotations

import socket
import types
from typing import Any

import msgspec
import torch

from grader.execution import loading
from grader.execution.executor import Executor
from grader.owntests import random_state
from grader.owntests.messages import Answer, Ask, LoadSubject, Question, Reply, ToWorker
from grader.wire import frames
from grader.wire.commands import Done
from grader.wire.messages import (
    Assigned,
    Attribute,
    Backward,
    Call,
    Convert,
    Inspect,
    LoadWeights,
    Raised,
    Read,
    Request,
    Unusable,
)

_FLUSH = "named_parameters"
"""Called by a mirrored module to hand over its parameters."""

_requests: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)


class Subject(Executor):
    """Answers questions that a user of the code could ask, and none about how it is written.

    Python lets whoever holds a function or a generator go on to its code, its frames and all that
    these can see. So calls reach exports, the subject's modules and its own methods; attributes
    are read off objects of its own classes; names with an underscore are not there.
    """

    def __init__(self, module: types.ModuleType, exports: list[str]) -> None:
        super().__init__(own_process=True)
        self.use(module)
        self._name = module.__name__
        self._exports = exports

    def handle(self, request: Request, blob: bytes | bytearray) -> tuple[Any, bytes | bytearray]:
        """As the executor does, but refuses what is no part of the contract."""
        try:
            permitted = self._permits(request)
        except KeyError:  # an object that is not there
            permitted = False
        if permitted:
            return super().handle(request, blob)
        return raised("AttributeError", "the module has nothing of this name to offer"), b""

    def _permits(self, request: Request) -> bool:
        match request:
            case Backward():
                return True
            case Call(handle=None):
                return request.name in self._exports and self._owns(request.assigned)
            case Call(handle=int(number), name=name):
                thing = self._objects[number]
                if isinstance(thing, torch.nn.Module):
                    return name in (None, _FLUSH) and self._owns(request.assigned)
                return name is None and self._is_own_method(thing)
            case Attribute():
                thing = self._objects[request.handle]
                return self._is_own(thing) and not request.name.startswith("_")
            case Inspect() | Read() | LoadWeights() | Convert():
                return isinstance(self._objects[request.handle], torch.nn.Module)
            case _:
                return False

    def _owns(self, assigned: list[Assigned]) -> bool:
        return all(isinstance(self._objects[one.handle], torch.nn.Module) for one in assigned)

    def _is_own(self, thing: Any) -> bool:
        return type(thing).__module__ == self._name

    def _is_own_method(self, thing: Any) -> bool:
        return (
            isinstance(thing, types.MethodType)
            and self._is_own(thing.__self__)
            and thing.__func__.__module__ == self._name
        )


def serve(sock: socket.socket, load: LoadSubject) -> None:
    """Be the subject until the other side closes."""
    subject: Subject | None = None
    broken: Reply = raised("ImportError", "the module cannot be imported")
    try:
        # The file that a line came from does not exist, so that no traceback quotes it.
        module = loading.load_source(load.source, "<subject>", load.module)
        subject = Subject(module, load.exports)
    except Exception:
        pass
    frames.send(sock, Done())
    while True:
        try:
            ask, blob = frames.receive(sock, _requests)
        except EOFError:
            return
        assert isinstance(ask, Ask)
        reply, data = (broken, b"") if subject is None else _answer(subject, ask, blob)
        try:
            frames.send(sock, Answer(reply=reply, random=random_state.get()), data)
        except frames.TooLarge:
            unusable = Unusable(problem="more than this grader accepts")
            frames.send(sock, Answer(reply=unusable, random=random_state.get()))


def _answer(subject: Subject, ask: Ask, blob: bytearray) -> tuple[Reply, bytes | bytearray]:
    question: Question = ask.question
    try:
        random_state.put(ask.random)
    except (RuntimeError, ValueError):
        return raised("RuntimeError", "that is no state of the random numbers"), b""
    return subject.handle(question, blob)


def raised(kind: str, message: str) -> Raised:
    """The subject raised a built-in exception."""
    return Raised(kind="raised", type=kind, bases=[kind], message=message, frame=None)
