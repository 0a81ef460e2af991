"""The student's ``nn.Module``, mirrored: its parameters are here, its computation is there."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch

from grader.course.model import Signature
from grader.execution.weights import Names
from grader.report.model import Evidence
from grader.session.student.calls import RemoteCall, RemoteObject, accept
from grader.session.student.returns import check_returned
from grader.session.student.transport import Transport
from grader.session.student.unread import Source, is_read, unread_buffer, unread_parameter
from grader.wire.budget import NAME_BYTES, Held
from grader.wire.errors import ProtocolError
from grader.wire.messages import (
    Assigned,
    Convert,
    Inspected,
    LoadWeights,
    Module,
    Train,
    Trained,
)
from grader.wire.tensors import NAMES, Packer, Unsendable


class _Remote:
    """What every part of a mirrored module needs to reach the student's.

    It knows parameters by the tables that the parts keep them in, and no part: so nothing here
    keeps itself alive.
    """

    def __init__(self, transport: Transport, number: int) -> None:
        self.transport = transport
        self.number = number
        self.source = Source(transport, number)
        self._tables: dict[str, tuple[dict[str, torch.nn.Parameter | None], str]] = {}

    def forget(self) -> None:
        """Forget what is described anew."""
        self.source.forget()
        self._tables.clear()

    def keep(self, name: str, table: dict[str, torch.nn.Parameter | None], leaf: str) -> None:
        """Know the parameter ``name`` as what ``table`` has of the name ``leaf``."""
        self._tables[name] = table, leaf

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Each once, in the student's order."""
        for name, (table, leaf) in self._tables.items():
            if (parameter := table.get(leaf)) is not None:
                yield name, parameter

    def changed(self) -> dict[str, torch.Tensor]:
        """New numbers of the parameters that were changed here since the last call."""
        changed, sent = {}, self.source.sent
        for name, parameter in self.named_parameters():
            if is_read(parameter):
                value = parameter.detach()
                if name not in sent or not (value.is_meta or torch.equal(value, sent[name])):
                    changed[name] = value
        return changed

    def assigned(self, packer: Packer, training: bool) -> Assigned:
        """What has to be sent before a call."""
        changed = self.changed()
        self.source.sent |= {name: value.clone() for name, value in changed.items()}
        tensors = {name: packer.add(value) for name, value in changed.items()}
        return Assigned(handle=self.number, tensors=tensors, training=training)


class _Mirror(torch.nn.Module):
    """A module within a remote module: its parameters are here, and calling it calls the remote.

    It trains or evaluates as the whole module does.
    """

    _remote: _Remote
    _path: str
    _whole: weakref.ref[RemoteModule] | None

    def __init__(self, remote: _Remote, path: str, whole: weakref.ref[RemoteModule] | None) -> None:
        super().__init__()
        self._remote = remote
        self._path = path
        self._whole = whole
        if whole is not None and (module := whole()) is not None:
            self.training = module.training

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """Call the part of the student's module that has this name, with what it takes there."""
        whole = None if self._whole is None else self._whole()
        if whole is not None and self.training is not whole.training:
            raise RuntimeError(
                f"{self._path} trains or evaluates as the whole module does: call train() or "
                "eval() on that"
            )
        call = RemoteCall(self._remote.transport, arguments, options, None, self)
        return call.run(handle=self._remote.number, part=self._path)

    def assigned(self, packer: Packer) -> Assigned:
        """What has to be sent before a call: parameters changed here since the last time."""
        return self._remote.assigned(packer, self.training)

    def remote_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Those of the whole module, of which this may be a part."""
        return self._remote.named_parameters()

    def __getitem__(self, index: int) -> torch.nn.Module | None:
        return list(self._modules.values())[index]

    def __len__(self) -> int:
        return len(self._modules)


class RemoteModule(_Mirror):
    """An ``nn.Module`` whose parameters mirror, by name, those of the student's module.

    The mirror is what counts: values set here (``load_state_dict``, an optimiser, in place) are
    sent along with the next call. Gradients of parameters arrive in the mirror. What the student's
    parameters and buffers hold is read when it is first used.
    """

    def __init__(self, transport: Transport, number: int, name: str, signature: Signature) -> None:
        super().__init__(_Remote(transport, number), "", None)
        self._transport = transport
        self._signature = signature
        self._remote_name = name
        self._held: Held | None = None
        self.remote_id = number

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """Call the student's ``forward``, in training or evaluation as this module is."""
        call = RemoteCall(self._transport, arguments, options, self._signature, self)
        result = call.run(handle=self.remote_id)
        return check_returned(result, self._signature.returns, self._remote_name)

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        """Set the declared parameters: by the student's ``load_weights``, else by name.

        ``weights`` maps names such as ``W_q.weight`` to tensors. Raises StudentError, of kind
        ``weights`` where a declared parameter is not there.
        """
        packer = Packer()
        indices = {name: packer.add(tensor) for name, tensor in weights.items()}
        request = LoadWeights(handle=self.remote_id, weights=indices, tensors=packer.specs)
        reply, _ = self._transport.ask(request, packer.blob, Inspected)
        inspected = accept(reply)
        self.mirror(inspected.module)

    def fit(
        self, batches: torch.Tensor, *, learning_rate: float, floor: float | None = None
    ) -> list[float]:
        """Train it, where it lives, to predict each next token of ``batches`` (steps, B, T + 1).

        Returns the loss of each step, which goes into the report as a curve, beside ``floor``, the
        loss that nobody can get below. The losses are what the worker says: judge a trained model
        by what it answers.
        """
        packer = Packer()
        request = Train(
            handle=self.remote_id,
            batches=packer.add(batches),
            learning_rate=learning_rate,
            assigned=[self.assigned(packer)],
            tensors=packer.specs,
        )
        reply, _ = self._transport.ask(request, packer.blob, Trained)
        trained = accept(reply)
        self.mirror(trained.module)
        if len(trained.losses) != len(batches):
            raise ProtocolError("it trained for another number of steps")
        losses = [round(loss, 4) for loss in trained.losses]
        curve = Evidence(
            demonstration="training",
            name="loss",
            yours=losses,
            expected=None if floor is None else round(floor, 4),
            kind="curve",
        )
        self._transport.curves.append(curve)
        return list(trained.losses)

    def to(self, *arguments: Any, **options: Any) -> RemoteModule:
        """As ``nn.Module.to``, here and there; for a dtype or a device."""
        device, dtype, _, _ = torch._C._nn._parse_to(*arguments, **options)
        request = Convert(
            handle=self.remote_id,
            dtype=None if dtype is None else NAMES[dtype],
            device=None if device is None else device.type,
        )
        self._send_assigned()
        reply, _ = self._transport.ask(request, b"", Inspected)
        inspected = accept(reply)
        self.mirror(inspected.module)
        return self

    def float(self) -> RemoteModule:
        return self.to(torch.float32)

    def double(self) -> RemoteModule:
        return self.to(torch.float64)

    def half(self) -> RemoteModule:
        return self.to(torch.float16)

    def bfloat16(self) -> RemoteModule:
        return self.to(torch.bfloat16)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or "remote_id" not in self.__dict__:
                raise
        return getattr(RemoteObject(self._transport, self.remote_id, "", None), name)

    def _send_assigned(self) -> None:
        if self._remote.changed():
            reading = RemoteCall(self._transport, (), {}, None, self)
            reading.run(handle=self.remote_id, name="named_parameters")

    def mirror(self, module: Module) -> None:
        """Take over the parameters, buffers and submodules of the student's module.

        Raises ProtocolError for a description that makes no sense, or is larger than is accepted.
        """
        size = NAME_BYTES * _count_names(module)
        self._held = None
        self._held = self._transport.budget.hold(size)
        try:
            self._take_over(module)
        except (IndexError, KeyError, AttributeError, AssertionError, RuntimeError):
            raise ProtocolError("it described a module that makes no sense") from None

    def _take_over(self, module: Module) -> None:
        for path in module.submodules:
            self._container(path)
        known = dict(self.named_parameters(remove_duplicate=False))
        present = {parameter.name for parameter in module.parameters}
        for name in known.keys() - present:
            container, leaf = self._parent(name)
            del container._parameters[leaf]
        mirrored: dict[str, torch.nn.Parameter] = {}
        remote = self._remote
        remote.forget()
        for described in module.parameters:
            container, leaf = self._parent(described.name)
            if described.same_as is None:
                mine = unread_parameter(described, remote.source, known.get(described.name))
                remote.keep(described.name, container._parameters, leaf)
            else:
                mine = mirrored[described.same_as]
            mirrored[described.name] = container._parameters[leaf] = mine
        for described in module.buffers:
            container, leaf = self._parent(described.name)
            container._buffers[leaf] = unread_buffer(described, remote.source)

    def _parent(self, name: str) -> tuple[torch.nn.Module, str]:
        path, _, leaf = name.rpartition(".")
        return self._container(path), leaf

    def _container(self, path: str) -> torch.nn.Module:
        container: torch.nn.Module = self
        parts = path.split(".") if path else []
        for count, part in enumerate(parts, 1):
            if part not in container._modules:
                whole = weakref.ref(self)
                container._modules[part] = _Mirror(self._remote, ".".join(parts[:count]), whole)
            inner = container._modules[part]
            assert inner is not None
            container = inner
        return container


def _count_names(module: Module) -> int:
    """How many names and parts of names a module has; raises ProtocolError for too many."""
    names = Names()
    try:
        for entry in (*module.parameters, *module.buffers):
            names.add(entry.name, of_tensor=True)
        for path in module.submodules:
            names.add(path)
    except Unsendable:
        raise ProtocolError("it described a module that is larger than is accepted") from None
    return names.count
