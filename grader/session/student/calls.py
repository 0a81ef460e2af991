"""One call of the student's code: what is sent, what comes back, and its backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import torch

from grader.course.model import Signature
from grader.session.errors import CheckFailure, student_error
from grader.session.student.transport import Transport
from grader.wire.budget import MAX_MESSAGE, MODULE_NAMES, REPLY_NUMBERS
from grader.wire.errors import ProtocolError
from grader.wire.messages import (
    Assigned,
    Attribute,
    Backward,
    Call,
    CallSignature,
    DType,
    Entries,
    Gradients,
    Handle,
    Items,
    Module,
    Plain,
    Problem,
    Raised,
    Returned,
    TensorRef,
    Unusable,
    Value,
)
from grader.wire.tensors import NAMES, TOO_LARGE, TOO_LARGE_TOGETHER, Packer, unpack
from grader.wire.values import decode, tensor_at

Kind: TypeAlias = tuple[torch.Size, torch.dtype, torch.device]
_KEPT_FROM = "kept_from_what_was_written"


def was_written_to(tensor: torch.Tensor) -> bool:
    """Whether a student's call wrote into ``tensor``, and that was kept from it."""
    return getattr(tensor, _KEPT_FROM, False)


class Owner(Protocol):
    """A module whose parameters take part in a call."""

    def assigned(self, packer: Packer) -> Assigned: ...

    def remote_parameters(self) -> Iterable[tuple[str, torch.nn.Parameter]]: ...


class RemoteObject:
    """An object of the student's that stays where it is, such as a cache.

    It can be passed back in calls, its attributes can be read, and a named tuple's items too.
    """

    def __init__(
        self, transport: Transport, number: int, type_name: str, items: list[Any] | None
    ) -> None:
        self._transport = transport
        self._items = items
        self.remote_id = number
        self.remote_type = type_name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        request = Attribute(handle=self.remote_id, name=name)
        reply, blob = self._transport.ask(request, b"", Returned)
        returned = accept(reply, "An attribute of what your code returned is")
        tensors = unpack(returned.tensors, blob, budget=self._transport.budget)
        return decoded(returned.value, tensors, self._transport)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        call = RemoteCall(self._transport, arguments, options, None)
        return call.run(handle=self.remote_id)

    @property
    def is_sequence(self) -> bool:
        """Whether it is a named tuple, whose items can be read."""
        return self._items is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sequence())

    def __len__(self) -> int:
        return len(self._sequence())

    def __getitem__(self, index: int) -> Any:
        return self._sequence()[index]

    def _sequence(self) -> list[Any]:
        if self._items is None:
            raise TypeError("this object of the student's is not a tuple")
        return self._items


class RemoteCall:
    """One call and, if it is differentiated, its backward pass."""

    def __init__(
        self,
        transport: Transport,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        signature: Signature | None,
        owner: Owner | None = None,
    ) -> None:
        self._transport = transport
        self._packer = Packer()
        self._inputs: dict[int, tuple[int, torch.Tensor]] = {}
        self._arguments = [self._encode(argument) for argument in arguments]
        self._options = {name: self._encode(option) for name, option in options.items()}
        self._signature = signature
        self._owner = owner
        self._call = 0
        self._returned: Returned | None = None
        self.module: Module | None = None
        self.tensors: list[torch.Tensor] = []

    def run(self, *, name: str | None = None, handle: int | None = None, part: str = "") -> Any:
        """Make the call and return its result; raises StudentError, CheckFailure, WorkerLost.

        ``part`` is the dotted name of a submodule of the module ``handle``, to be called instead.
        """
        assigned = [] if self._owner is None else [self._owner.assigned(self._packer)]
        parameters = [] if self._owner is None else list(self._owner.remote_parameters())
        leaves = [tensor for _, tensor in self._inputs.values()]
        leaves += [parameter for _, parameter in parameters]
        with torch._C.DisableTorchFunctionSubclass():
            keep_graph = torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves)
            self._kinds = [kind_of(leaf) for leaf in leaves] if keep_graph else []
        self._parameter_names = [name for name, _ in parameters]
        signature = self._signature and CallSignature(
            arguments=self._signature.arguments, options=self._signature.options
        )
        self._request = Call(
            name=name,
            handle=handle,
            part=part,
            arguments=self._arguments,
            options=self._options,
            signature=signature or None,
            assigned=assigned,
            grad_enabled=torch.is_grad_enabled(),
            keep_graph=keep_graph,
            tensors=self._packer.specs,
        )
        if keep_graph:
            outputs = _Differentiable.apply(self, *leaves)  # type: ignore[no-untyped-call]
            self.tensors = list(outputs)
        else:
            self.perform()
        assert self._returned is not None
        return decoded(self._returned.value, self.tensors, self._transport)

    def perform(self) -> list[torch.Tensor]:
        """Make the round trip; results are in ``tensors``, in the order of their indices."""
        reply, blob = self._transport.ask(self._request, self._packer.blob, Returned)
        self._returned = returned = accept(reply, "Your code returned")
        self.tensors = unpack(returned.tensors, blob, budget=self._transport.budget)
        self.module = returned.module
        self._call = returned.call
        if self.module is None:
            given = [tensor for _, tensor in self._inputs.values()]
            _refuse_surprises(given, self.tensors[: len(self.tensors) - len(returned.changed)])
        self._write_back(returned.changed)
        return self.tensors

    @property
    def differentiable(self) -> list[bool]:
        """For each result, whether gradients can flow back through it."""
        assert self._returned is not None
        return [spec.requires_grad for spec in self._returned.tensors]

    @property
    def way_back(self) -> _WayBack:
        """How gradients flow through this call."""
        indices = [index for index, _ in self._inputs.values()]
        return _WayBack(self._transport, self._call, indices, self._parameter_names, self._kinds)

    def _write_back(self, changed: dict[int, int]) -> None:
        """What the call wrote into its inputs is seen in the caller's tensors, as ever.

        Where inputs are closed, it is only noted of them.
        """
        self._transport.input_writes += bool(changed)
        by_index = dict(self._inputs.values())
        for index, new in changed.items():
            mine, written = by_index.get(index), tensor_at(self.tensors, new)
            if mine is None or (mine.dtype, mine.device) != (written.dtype, written.device):
                raise ProtocolError("it wrote into an input that was not passed")
            if self._transport.inputs_closed:
                setattr(mine, _KEPT_FROM, True)
                continue
            with torch.no_grad():
                if mine.shape == written.shape:
                    mine.copy_(written)
                elif not mine.requires_grad:
                    mine.data = written

    def _encode(self, thing: Any) -> Value:
        match thing:
            case torch.Tensor():
                if id(thing) not in self._inputs:
                    self._inputs[id(thing)] = (self._packer.add(thing, keep_strides=True), thing)
                return TensorRef(index=self._inputs[id(thing)][0])
            case _ if isinstance(number := getattr(thing, "remote_id", None), int):
                return Handle(id=number, type="")
            case None | bool() | int() | float() | str():
                return Plain(value=thing)
            case torch.dtype():
                return DType(name=NAMES[thing])
            case tuple() | list():
                kind = "tuple" if isinstance(thing, tuple) else "list"
                return Items(kind=kind, items=[self._encode(item) for item in thing])
            case dict():
                return Entries(items={key: self._encode(item) for key, item in thing.items()})
        raise TypeError(f"a {type(thing).__name__} cannot be passed to the student's code")


class _WayBack:
    """How gradients flow through a call; holds none of its results, which would keep themselves."""

    def __init__(
        self,
        transport: Transport,
        call: int,
        inputs: list[int],
        parameters: list[str],
        kinds: list[Kind],
    ) -> None:
        self._transport = transport
        self._call = call
        self._inputs = inputs
        self._parameters = parameters
        self._kinds = kinds

    def gradients(self, cotangents: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Gradients of the inputs and then of the parameters, given those of the results."""
        packer = Packer()
        given = {i: packer.add(c) for i, c in enumerate(cotangents) if c is not None}
        request = Backward(call=self._call, cotangents=given, tensors=packer.specs)
        reply, blob = self._transport.ask(request, packer.blob, Gradients)
        gradients = accept(reply, "Your backward pass gives")
        tensors = unpack(gradients.tensors, blob, budget=self._transport.budget)
        result = [gradients.inputs.get(index) for index in self._inputs]
        result += [gradients.parameters.get(name) for name in self._parameters]
        found = [None if index is None else tensor_at(tensors, index) for index in result]
        for gradient, kind in zip(found, self._kinds, strict=True):
            if gradient is not None and kind_of(gradient) != kind:
                raise ProtocolError("it sent a gradient of another shape, type or device")
        return found


class _Differentiable(torch.autograd.Function):
    """Connects a remote call to autograd; differentiable once."""

    @staticmethod
    def forward(ctx: Any, exchange: RemoteCall, *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = exchange.perform()
        ctx.way_back = exchange.way_back
        ctx.set_materialize_grads(False)
        constant = [t for t, d in zip(outputs, exchange.differentiable, strict=True) if not d]
        ctx.mark_non_differentiable(*constant)
        return tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[Any, ...]:
        gradients = ctx.way_back.gradients(list(cotangents))
        needed = ctx.needs_input_grad[1:]
        wanted = [g if need else None for g, need in zip(gradients, needed, strict=True)]
        return (None, *wanted)


_ALLOWED: dict[Problem, str] = {
    TOO_LARGE: f"at most {REPLY_NUMBERS:,} numbers are allowed",
    TOO_LARGE_TOGETHER: f"at most {REPLY_NUMBERS:,} numbers are allowed, all tensors together",
    "more than this grader accepts": (
        f"names, texts and nested lists may take {MAX_MESSAGE >> 20} MiB together"
    ),
    "a module with more parts or names than this grader accepts": (
        f"at most {MODULE_NAMES:,} parameters, buffers and submodules are allowed; each part of a "
        "dotted name counts"
    ),
}


def _refuse_surprises(given: list[torch.Tensor], results: list[torch.Tensor]) -> None:
    """Raise CheckFailure for results of a kind that nothing passed in could have led to."""
    if any(t.is_meta for t in results) and not any(t.is_meta for t in given):
        raise CheckFailure("Your code returned a tensor without data (on the meta device).")
    if any(t.is_complex() for t in results) and not any(t.is_complex() for t in given):
        raise CheckFailure("Your code returned complex numbers; real ones are expected.")


def accept(reply: Any, subject: str = "Your code made") -> Any:
    """Pass a good reply on; raise what another one stands for.

    ``subject`` begins the sentence about what cannot be taken.
    """
    if isinstance(reply, Raised):
        raise student_error(reply)
    if isinstance(reply, Unusable):
        allowed = _ALLOWED.get(reply.problem, "a dense tensor is expected")
        detail = f"it is {reply.size:,}" if reply.size else ""
        raise CheckFailure(f"{subject} {reply.problem}; {allowed}.", detail)
    return reply


def decoded(value: Value, tensors: list[torch.Tensor], transport: Transport) -> Any:
    """What a message value stands for: objects of the student's stay where they are."""
    return decode(
        value,
        tensors,
        lambda handle, items: RemoteObject(transport, handle.id, handle.type, items),
    )


def kind_of(tensor: torch.Tensor) -> Kind:
    """What two tensors have in common of which one can take the other's place."""
    return tensor.shape, tensor.dtype, tensor.device
