"""Tensors of a student's module that are here by name and shape, until somebody reads numbers.

A mirrored module has all the parameters and buffers of the student's. Most of their numbers are
never looked at, and some are many: a mask for every length there could be. So they stay where they
are until an operation asks for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

import torch

from grader.session.errors import CheckFailure
from grader.session.student.calls import accept, decoded, kind_of
from grader.session.student.transport import Transport
from grader.wire.budget import MAX_DIMS, MAX_NUMEL
from grader.wire.errors import ProtocolError
from grader.wire.messages import Entries, Parameter, Read, Returned
from grader.wire.tensors import DTYPES, claimed, unpack

FEW = 1 << 16
"""Numbers of a tensor that is read along with others, ``FEW_TOGETHER`` in one request."""
FEW_TOGETHER = 1 << 18

_Tensor: Any = torch.Tensor
_NAMED = [
    "shape", "dtype", "device", "layout", "ndim", "itemsize", "nbytes", "requires_grad", "grad",
    "grad_fn", "is_leaf", "is_meta", "is_cuda", "is_sparse", "is_quantized", "retains_grad",
]  # fmt: skip
_NEEDS_NO_NUMBERS = {
    *(getattr(_Tensor, name).__get__ for name in _NAMED),
    _Tensor.requires_grad.__set__,
    _Tensor.grad.__set__,
    _Tensor.grad.__delete__,
    *(_Tensor.numel, _Tensor.dim, _Tensor.size, _Tensor.ndimension, _Tensor.element_size),
    *(_Tensor.is_floating_point, _Tensor.is_complex, _Tensor.requires_grad_),
    *(_Tensor.__len__, _Tensor.__hash__),
    *(torch.numel, torch.is_floating_point, torch.is_complex),
}
"""What does not make the numbers cross."""


class Source:
    """Where the numbers of one module are: reads them, and remembers which are known here."""

    def __init__(self, transport: Transport, number: int) -> None:
        self._transport = transport
        self._number = number
        self._unread: WeakValueDictionary[str, _Unread] = WeakValueDictionary()
        self.sent: dict[str, torch.Tensor] = {}
        """What the student's module has in those parameters that were read or set, by name."""

    def forget(self) -> None:
        """Nothing is known any more of what it holds."""
        self._unread.clear()
        self.sent.clear()

    def await_reading(self, tensor: _Unread, name: str) -> None:
        """Let ``tensor`` stand for the parameter or buffer ``name`` until it is read."""
        tensor._source, tensor._name = self, name
        self._unread[name] = tensor

    def read(self, wanted: _Unread) -> None:
        """Read its numbers, and those of small ones, which are likely to be asked for next."""
        asked = {wanted._name: wanted}
        if _count(wanted) <= FEW:
            asked |= self._small_ones()
        request = Read(handle=self._number, names=list(asked))
        reply, blob = self._transport.ask(request, b"", Returned)
        returned = accept(reply, "Your module holds")
        if not isinstance(returned.value, Entries):
            raise ProtocolError("it answered something else than it was asked")
        tensors = unpack(returned.tensors, blob, budget=self._transport.budget)
        found = decoded(returned.value, tensors, self._transport)
        for name, tensor in asked.items():
            numbers = found.get(name)
            with torch._C.DisableTorchFunctionSubclass():
                is_same = isinstance(numbers, torch.Tensor) and kind_of(numbers) == kind_of(tensor)
            if is_same:
                self._unread.pop(name, None)
                if isinstance(tensor, torch.nn.Parameter):
                    self.sent[name] = numbers.clone()
                tensor.become(numbers)
        if isinstance(wanted, _Unread):
            raise CheckFailure(
                "Your module has replaced a parameter or buffer that it was made with by another."
            )

    def _small_ones(self) -> dict[str, _Unread]:
        few = {name: tensor for name, tensor in self._unread.items() if _count(tensor) <= FEW}
        counted = itertools.accumulate(map(_count, few.values()))
        together = sum(count <= FEW_TOGETHER for count in counted)
        return dict(itertools.islice(few.items(), together))


class _Unread(torch.Tensor):
    """A tensor whose numbers are read when first used; then it is any other tensor."""

    _source: Source
    _name: str
    _becomes: type[torch.Tensor] = torch.Tensor

    @classmethod
    def __torch_function__(
        cls,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func not in _NEEDS_NO_NUMBERS:
            for tensor in _unread_in([*args, *kwargs.values()]):
                tensor._source.read(tensor)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        self._source.read(self)
        return self.__deepcopy__(memo)  # of what it has become

    def become(self, numbers: torch.Tensor) -> None:
        """Be a usual tensor of these numbers."""
        with torch._C.DisableTorchFunctionSubclass():
            self.data = numbers
        del self._source, self._name
        self.__class__ = self._becomes  # type: ignore[assignment]


class _UnreadParameter(_Unread, torch.nn.Parameter):
    _becomes = torch.nn.Parameter


def is_read(parameter: torch.Tensor) -> bool:
    """Whether its numbers are here."""
    return not isinstance(parameter, _Unread)


def unread_buffer(described: Parameter, source: Source) -> torch.Tensor:
    """A buffer as described; raises ProtocolError for what cannot be."""
    empty = _placeholder(described)
    if empty.is_meta:
        return empty
    buffer: _Unread = torch.Tensor._make_subclass(_Unread, empty)
    source.await_reading(buffer, described.name)
    return buffer


def unread_parameter(
    described: Parameter, source: Source, known: torch.nn.Parameter | None
) -> torch.nn.Parameter:
    """A parameter as described: ``known``, if it can be that one; raises ProtocolError."""
    empty = _placeholder(described)
    with torch._C.DisableTorchFunctionSubclass():
        if known is None or kind_of(known) != kind_of(empty):
            trained = described.trained and empty.dtype.is_floating_point
            known = torch.nn.Parameter(empty, requires_grad=trained)
        else:
            known.data = empty
    if empty.is_meta:
        source.sent[described.name] = known.detach()
    else:
        known.__class__ = _UnreadParameter
        assert isinstance(known, _UnreadParameter)
        source.await_reading(known, described.name)
    return known


def _placeholder(described: Parameter) -> torch.Tensor:
    """A tensor of that shape and type which takes no memory."""
    dtype, shape = DTYPES.get(described.dtype), described.shape
    if dtype is None or described.device not in ("cpu", "meta") or len(shape) > MAX_DIMS:
        raise ProtocolError("it described a module that makes no sense")
    if min(shape, default=0) < 0 or claimed(shape) >= MAX_NUMEL:
        raise ProtocolError("it described a module that makes no sense")
    if described.device == "meta":
        return torch.empty(shape, dtype=dtype, device="meta")
    return torch.zeros((), dtype=dtype).expand(shape)


def _count(tensor: _Unread) -> int:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.numel()


def _unread_in(things: Any) -> Iterator[_Unread]:
    for thing in things:
        if isinstance(thing, _Unread):
            yield thing
        elif isinstance(thing, list | tuple):
            yield from _unread_in(thing)
        elif isinstance(thing, dict):
            yield from _unread_in(thing.values())
