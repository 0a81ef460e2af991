"""Carries out requests beside the student's code.

In a worker it answers the trusted side over a socket; for a reference, which is trusted, it runs in
the caller's own process. Either way the same requests give the same replies.
"""

from __future__ import annotations

import builtins
import inspect
import random
import sys
import traceback
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from grader.execution import loading, torch_without_dynamo
from grader.execution.binding import CannotBind, bind
from grader.execution.forbidden import find_forbidden
from grader.execution.settings import Settings
from grader.execution.statelessness import is_stateless
from grader.execution.stubs import stubs
from grader.execution.training import fit
from grader.execution.weights import WrongWeights, describe_module, read_numbers, set_by_name
from grader.wire.budget import MAX_MESSAGE_TEXT, REPLY_NUMBERS
from grader.wire.commands import Done
from grader.wire.messages import (
    Analyse,
    Analysed,
    Assigned,
    Attribute,
    Backward,
    BeginCheck,
    Call,
    Convert,
    Examine,
    Examined,
    ForbiddenUse,
    Frame,
    Gradients,
    Handle,
    Inspect,
    Inspected,
    Load,
    Loaded,
    LoadWeights,
    Raised,
    Read,
    Reply,
    Request,
    Returned,
    Train,
    Trained,
    Unusable,
)
from grader.wire.tensors import DTYPES, Packer, Unsendable, raw_bytes, unpack
from grader.wire.values import ObjectTable, Outgoing, decode, sendable

KEPT_GRAPHS = 64
_BUILTIN_ERRORS = {
    thing
    for thing in vars(builtins).values()
    if isinstance(thing, type) and issubclass(thing, Exception)
}


class Watch(Protocol):
    """Notices what runs although it is forbidden."""

    def take(self) -> dict[str, str]:
        """What has run since the last time: the assignment's entry, and what it was."""
        ...


class Executor:
    """Holds one student's module and the objects that its calls made."""

    def __init__(
        self, *, own_process: bool, watch: Callable[[list[str]], Watch] | None = None
    ) -> None:
        """``watch`` begins to notice what is forbidden, when the student's file is loaded."""
        self._own_process = own_process
        """Whether global state of torch and the random generators is the student's alone."""
        self._module: types.ModuleType | None = None
        self._directory = ""
        self._objects = ObjectTable()
        self._calls: OrderedDict[int, _Call] = OrderedDict()
        self._call_number = 0
        self._watch = watch
        self._noticed: Watch | None = None
        self._settings = Settings() if own_process else None
        self._handlers: dict[type, Callable[..., tuple[Reply, bytes | bytearray]]] = {
            Load: self._load,
            Analyse: self._analyse,
            Examine: self._examine,
            BeginCheck: self._begin_check,
            Call: self._call,
            Backward: self._backward,
            Attribute: self._attribute,
            Inspect: self._inspect,
            Read: self._read,
            LoadWeights: self._load_weights,
            Convert: self._convert,
            Train: self._train,
        }

    def use(self, module: types.ModuleType) -> None:
        """Serve ``module``, which was loaded elsewhere."""
        self._module = module
        self._directory = str(Path(module.__file__ or "").parent)

    def forget(self) -> None:
        """Let go of all objects and calls of earlier checks."""
        self._objects.clear()
        self._calls.clear()

    def handle(self, request: Request, blob: bytes | bytearray) -> tuple[Reply, bytes | bytearray]:
        """Carry out one request; never raises for what the student's code does."""
        reply, blob = self._handle(request, blob)
        if self._noticed is not None:
            reply.tripped = self._noticed.take()
        if self._own_process:
            reply.skipped = torch_without_dynamo.take_skipped()
        return reply, blob

    def _handle(self, request: Request, blob: bytes | bytearray) -> tuple[Reply, bytes | bytearray]:
        try:
            return self._handlers[type(request)](request, blob)
        except Unsendable as refused:
            return Unusable(problem=refused.problem, size=refused.size), b""
        except (CannotBind, WrongWeights) as problem:
            kind = "signature" if isinstance(problem, CannotBind) else "weights"
            error = Raised(
                kind=kind, type="TypeError", bases=["TypeError"], message=str(problem), frame=None
            )
            return error, b""
        except BaseException as error:
            if not (self._own_process or isinstance(error, Exception)):
                raise
            return self.describe(error), b""

    # -- loading ------------------------------------------------------------------------------

    def _load(self, request: Load, blob: bytes) -> tuple[Reply, bytes]:
        self._directory = str(Path(request.path).parent)
        if self._watch is not None:
            self._noticed = self._watch(request.forbidden)
        seed = torch.default_generator.initial_seed()
        try:
            module = loading.load(
                request.path, request.module, definitions_only=request.definitions_only
            )
        except (MemoryError, RecursionError, ValueError, SyntaxError) as error:
            if isinstance(error, SyntaxError) or self._student_frame(error) is None:
                return loading.refused(error, Path(request.path)), b""
            raise
        self._module = module
        changed = [] if self._settings is None else self._settings.restore()
        if (now := torch.default_generator.initial_seed()) != seed:
            changed.append(f"sets the seed of torch's random numbers to {now}")
        exports = {
            name: _kind(getattr(module, name)) for name in request.exports if hasattr(module, name)
        }
        defined = [
            sendable(str(name))
            for name, thing in list(vars(module).items())
            if isinstance(thing, type | types.FunctionType) and thing.__module__ == request.module
        ]
        source = Path(request.path).read_text("utf-8")
        reply = Loaded(
            exports=exports,
            defined=defined[:200],
            elsewhere=loading.defined_elsewhere(source, set(request.exports) - exports.keys()),
            self_contained=not request.definitions_only or loading.self_contained(source),
            changed=[sendable(words) for words in changed],
            stubs=stubs(source, list(exports)),
        )
        return reply, b""

    def _analyse(self, request: Analyse, blob: bytes) -> tuple[Reply, bytes]:
        self._directory = str(Path(request.path).parent)
        uses: dict[int, ForbiddenUse] = {}
        try:
            for source in loading.readings(Path(request.path)):
                uses = {use.line: use for use in find_forbidden(source, request.forbidden)} | uses
            return Analysed(uses=[uses[line] for line in sorted(uses)]), b""
        except (MemoryError, RecursionError, ValueError, SyntaxError) as error:
            return loading.refused(error, Path(request.path)), b""

    def _examine(self, request: Examine, blob: bytes) -> tuple[Reply, bytes]:
        return Examined(is_stateless=is_stateless(Path(request.path).read_text("utf-8"))), b""

    def _begin_check(self, request: BeginCheck, blob: bytes) -> tuple[Reply, bytes]:
        self.forget()
        if self._settings is not None:
            self._settings.restore()
        if request.fill and self._own_process:
            torch.use_deterministic_algorithms(True, warn_only=True)
        # torch.manual_seed also seeds accelerators that are not there, which takes a millisecond.
        torch.default_generator.manual_seed(request.seed)
        if self._own_process:
            random.seed(request.seed)
            if (numpy := sys.modules.get("numpy")) is not None:
                numpy.random.seed(request.seed % 2**32)
        return Done(), b""

    # -- calls --------------------------------------------------------------------------------

    def _call(self, request: Call, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        tensors = unpack(request.tensors, blob, strided=True)
        for spec, tensor in zip(request.tensors, tensors, strict=True):
            if spec.requires_grad:
                tensor.requires_grad_()
        for assigned in request.assigned:
            self._assign(assigned, tensors)
        arguments = [decode(value, tensors, self._held) for value in request.arguments]
        options = {name: decode(v, tensors, self._held) for name, v in request.options.items()}
        whole, target = self._target(request)
        to_bind = target.forward if isinstance(target, torch.nn.Module) else target
        arguments, options = bind(to_bind, request.signature, arguments, options)
        before = [_fingerprint(tensor) for tensor in tensors]
        with torch.set_grad_enabled(request.grad_enabled):
            result = target(*arguments, **options)

        outgoing = Outgoing(self._objects)
        value = outgoing.value(result)
        changed = {
            index: outgoing.add(tensor)
            for index, tensor in enumerate(tensors)
            if _fingerprint(tensor) != before[index]
        }
        module = None
        if isinstance(result, torch.nn.Module):
            module = describe_module(result)
        self._call_number += 1
        if request.keep_graph:
            owner = whole if isinstance(whole, torch.nn.Module) else None
            inputs = {i: t for i, t in enumerate(tensors) if t.requires_grad}
            self._calls[self._call_number] = _Call(inputs, outgoing.tensors, owner)
            while len(self._calls) > KEPT_GRAPHS:
                self._calls.popitem(last=False)
        reply = Returned(
            value=value,
            call=self._call_number,
            module=module,
            changed=changed,
            tensors=outgoing.packer.specs,
        )
        return reply, outgoing.packer.blob

    def _held(self, handle: Handle, items: object) -> Any:
        return self._objects[handle.id]

    def _target(self, request: Call) -> tuple[Any, Any]:
        """What holds the parameters of a call, and what is called: mostly the same."""
        if request.handle is None:
            export = getattr(self._module, str(request.name))
            return export, export
        whole = self._objects[request.handle]
        if request.part:
            return whole, whole.get_submodule(request.part)
        target = whole if request.name is None else getattr(whole, request.name)
        return target, target

    def _assign(self, assigned: Assigned, tensors: list[torch.Tensor]) -> None:
        module = self._objects[assigned.handle]
        if module.training is not assigned.training:
            module.train(assigned.training)
        if assigned.tensors:
            parameters = dict(module.named_parameters(remove_duplicate=False))
            with torch.no_grad():
                for name, index in assigned.tensors.items():
                    parameters[name].copy_(tensors[index])

    def _backward(self, request: Backward, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        call = self._calls[request.call]
        cotangents = unpack(request.tensors, blob)
        parameters = (
            {n: p for n, p in call.owner.named_parameters() if p.requires_grad}
            if call.owner is not None
            else {}
        )
        # A scalar needs no explicit grad_outputs, whose first use imports half of torch.fx.
        with torch.enable_grad():
            total = sum(
                (call.outputs[output] * cotangents[index]).sum()
                for output, index in request.cotangents.items()
            )
        wanted = [*call.inputs.values(), *parameters.values()]
        gradients: Iterable[torch.Tensor | None] = [None] * len(wanted)
        if isinstance(total, torch.Tensor) and total.requires_grad and wanted:
            gradients = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
        packer = Packer(REPLY_NUMBERS)
        indices = [None if g is None else packer.add(g) for g in gradients]
        by_input = zip(call.inputs, indices[: len(call.inputs)], strict=True)
        by_name = zip(parameters, indices[len(call.inputs) :], strict=True)
        reply = Gradients(
            inputs={key: index for key, index in by_input if index is not None},
            parameters={key: index for key, index in by_name if index is not None},
            tensors=packer.specs,
        )
        return reply, packer.blob

    def _attribute(self, request: Attribute, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        result = getattr(self._objects[request.handle], request.name)
        outgoing = Outgoing(self._objects)
        value = outgoing.value(result)
        reply = Returned(value=value, call=0, tensors=outgoing.packer.specs)
        return reply, outgoing.packer.blob

    # -- modules ------------------------------------------------------------------------------

    def _inspect(self, request: Inspect, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        return Inspected(module=describe_module(self._objects[request.handle])), b""

    def _read(self, request: Read, blob: bytes | bytearray) -> tuple[Reply, bytes | bytearray]:
        packer = Packer(REPLY_NUMBERS)
        found = read_numbers(self._objects[request.handle], request.names, packer)
        return Returned(value=found, call=0, tensors=packer.specs), packer.blob

    def _load_weights(self, request: LoadWeights, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        module = self._objects[request.handle]
        tensors = unpack(request.tensors, blob)
        weights = {name: tensors[index] for name, index in request.weights.items()}
        with torch.no_grad():
            if callable(getattr(module, "load_weights", None)):
                module.load_weights(weights)
            else:
                set_by_name(module, weights)
        return self._inspect(Inspect(handle=request.handle), b"")

    def _convert(self, request: Convert, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        module = self._objects[request.handle]
        if request.dtype is not None:
            module.to(DTYPES[request.dtype])
        if request.device is not None:
            module.to(request.device)
        return self._inspect(Inspect(handle=request.handle), b"")

    def _train(self, request: Train, blob: bytes) -> tuple[Reply, bytes | bytearray]:
        tensors = unpack(request.tensors, blob)
        for assigned in request.assigned:
            self._assign(assigned, tensors)
        module = self._objects[request.handle]
        losses = fit(module, tensors[request.batches], learning_rate=request.learning_rate)
        return Trained(losses=losses, module=describe_module(module)), b""

    # -- errors -------------------------------------------------------------------------------

    def describe(self, error: BaseException) -> Raised:
        """What the student's code raised, in a message."""
        try:
            message = str(error)[:MAX_MESSAGE_TEXT]
        except BaseException:
            message = "(its message cannot be read)"
        return Raised(
            kind="raised",
            type=sendable(str(type(error).__name__)),
            bases=[t.__name__ for t in type(error).__mro__ if t in _BUILTIN_ERRORS],
            message=sendable(message),
            frame=self._student_frame(error),
        )

    def _student_frame(self, error: BaseException) -> Frame | None:
        """The innermost line of the student's own files that the error passed through."""
        for summary in reversed(traceback.extract_tb(error.__traceback__, limit=-200)):
            if self._directory and str(Path(summary.filename).parent) == self._directory:
                text = sendable((summary.line or "").strip()[:200])
                line = summary.lineno or 0
                return Frame(file=Path(summary.filename).name, line=line, text=text)
        return None


class _Call(NamedTuple):
    """What a later backward pass needs of a call."""

    inputs: dict[int, torch.Tensor]
    outputs: list[torch.Tensor]
    owner: torch.nn.Module | None


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "module" if issubclass(thing, torch.nn.Module) else "class"
    return "function" if callable(thing) else "other"


def _fingerprint(tensor: torch.Tensor) -> bytes:
    """The numbers of a tensor; unlike its version it also shows writes through ``.data``."""
    return b"" if tensor.is_meta else raw_bytes(tensor.detach().resolve_conj().contiguous())
