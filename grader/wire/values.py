"""Python values to message values and back.

What a student's objects give is encoded here, as hostile; what is passed to them, which is
trusted, by :mod:`grader.session.student.calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from grader.wire.budget import REPLY_NUMBERS
from grader.wire.errors import ProtocolError
from grader.wire.messages import (
    DType,
    Entries,
    Handle,
    Items,
    Plain,
    TensorRef,
    Value,
)
from grader.wire.tensors import DTYPES, NAMES, Packer

MAX_DEPTH = 16
MAX_ITEMS = 4096
MAX_TEXT = 64 * 1024


class ObjectTable:
    """Objects that stay on this side; the other side holds their numbers."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._next = 0

    def clear(self) -> None:
        """Forget every object. Numbers are never used again."""
        self._objects.clear()
        self._numbers.clear()

    def number(self, thing: Any) -> int:
        """The number of ``thing``, the same each time."""
        if id(thing) not in self._numbers:
            self._next += 1
            self._numbers[id(thing)] = self._next
            self._objects[self._next] = thing
        return self._numbers[id(thing)]

    def __getitem__(self, number: int) -> Any:
        """Raises KeyError for an object that was forgotten."""
        return self._objects[number]


class Outgoing:
    """Turns one call's result into a message value; tensors go into ``packer``."""

    def __init__(self, objects: ObjectTable) -> None:
        self.packer = Packer(REPLY_NUMBERS)
        self.tensors: list[torch.Tensor] = []
        """The tensors of the value itself, in the order of their first indices."""
        self._objects = objects
        self._count = 0

    def add(self, tensor: torch.Tensor) -> int:
        return self.packer.add(tensor)

    def value(self, thing: Any, depth: int = 0) -> Value:
        """Raises UnusableTensor for tensors that cannot be sent."""
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_ITEMS:
            return self._handle(thing)
        if isinstance(thing, torch.Tensor):
            index = self.packer.add(thing)
            self.tensors.append(thing)
            return TensorRef(index=index)
        if thing is None or type(thing) in (bool, float):
            return Plain(value=thing)
        if type(thing) is int and -(2**63) <= thing < 2**63:
            return Plain(value=thing)
        if type(thing) is str:
            return Plain(value=sendable(thing))
        if isinstance(thing, torch.dtype) and thing in NAMES:
            return DType(name=NAMES[thing])
        if isinstance(thing, tuple | list | dict) and self._count + len(thing) > MAX_ITEMS:
            return self._handle(thing)
        if type(thing) in (tuple, list):
            items = [self.value(item, depth + 1) for item in thing]
            return Items(kind=type(thing).__name__, items=items)
        if type(thing) is dict and all(type(key) is str for key in thing):
            by_key = {sendable(key): self.value(item, depth + 1) for key, item in thing.items()}
            return Entries(items=by_key)
        if isinstance(thing, tuple):
            items = [self.value(item, depth + 1) for item in tuple(thing)]
            return self._handle(thing, items)
        return self._handle(thing)

    def _handle(self, thing: Any, items: list[Value] | None = None) -> Handle:
        name = sendable(str(type(thing).__name__))
        return Handle(id=self._objects.number(thing), type=name, items=items)


def sendable(text: str) -> str:
    """``text`` as UTF-8 can hold it, and not too long."""
    return text[:MAX_TEXT].encode("utf-8", "backslashreplace").decode()


def decode(
    value: Value,
    tensors: list[torch.Tensor],
    thing: Callable[[Handle, list[Any] | None], Any],
) -> Any:
    """The Python value a message value stands for.

    ``thing`` is asked for what a handle stands for, with its items. Raises ProtocolError for
    tensors and dtypes that are not there.
    """
    match value:
        case Plain():
            return value.value
        case TensorRef():
            return tensor_at(tensors, value.index)
        case Items():
            items = [decode(item, tensors, thing) for item in value.items]
            return items if value.kind == "list" else tuple(items)
        case Entries():
            return {key: decode(item, tensors, thing) for key, item in value.items.items()}
        case DType():
            if value.name not in DTYPES:
                raise ProtocolError("it answered with a dtype that is not there")
            return DTYPES[value.name]
        case Handle():
            held = value.items
            return thing(
                value, None if held is None else [decode(item, tensors, thing) for item in held]
            )


def tensor_at(tensors: list[torch.Tensor], index: int) -> torch.Tensor:
    """One of a frame's tensors; raises ProtocolError if it has none there."""
    if not 0 <= index < len(tensors):
        raise ProtocolError("it answered with a tensor that is not there")
    return tensors[index]
