"""The student's ``nn.Module``, mirrored: its parameters are here, its computation is there."""

from __future__ import annotations

from typing import Any

import torch

from grader.course.model import Signature
from grader.report.model import Evidence
from grader.sandbox.errors import ProtocolError
from grader.sandbox.messages import (
    Assigned,
    Convert,
    Inspected,
    LoadWeights,
    Module,
    Train,
    Trained,
)
from grader.sandbox.tensors import NAMES, Packer, unpack
from grader.session.calls import Exchange, RemoteObject, accept, kind_of
from grader.session.returns import check_returned
from grader.session.transport import Transport

MAX_NAMES = 4096
"""Of a module's parameters, buffers and submodules together."""
MAX_PATH = 512
"""Characters of one dotted name."""


class _Mirror(torch.nn.Module):
    """A module within a remote module: its parameters are here, and calling it calls the remote.

    It trains or evaluates as the whole module does.
    """

    def __init__(self, whole: RemoteModule | None, path: str) -> None:
        super().__init__()
        self._path = path
        # Set as an attribute, the whole would become a part of its part.
        vars(self)["_whole"] = whole
        if whole is not None:
            self.training = whole.training

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """Call the part of the student's module that has this name, with what it takes there."""
        whole: RemoteModule | None = vars(self)["_whole"]
        assert whole is not None
        if self.training is not whole.training:
            raise RuntimeError(
                f"{self._path} trains or evaluates as the whole module does: call train() or "
                "eval() on that"
            )
        return whole.call_part(self._path, arguments, options)

    def __getitem__(self, index: int) -> torch.nn.Module | None:
        return list(self._modules.values())[index]

    def __len__(self) -> int:
        return len(self._modules)


class RemoteModule(_Mirror):
    """An ``nn.Module`` whose parameters mirror, by name, those of the student's module.

    The mirror is what counts: values set here (``load_state_dict``, an optimiser, in place) are
    sent along with the next call. Gradients of parameters arrive in the mirror.
    """

    def __init__(self, transport: Transport, number: int, name: str, signature: Signature) -> None:
        super().__init__(None, "")
        self._transport = transport
        self._signature = signature
        self._remote_name = name
        self._sent: dict[str, torch.Tensor] = {}
        self.remote_id = number

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """Call the student's ``forward``, in training or evaluation as this module is."""
        call = Exchange(self._transport, arguments, options, self._signature, self)
        result = call.run(handle=self.remote_id)
        return check_returned(result, self._signature.returns, self._remote_name)

    def call_part(self, path: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call the submodule at ``path``; gradients flow as through the whole module."""
        call = Exchange(self._transport, arguments, options, None, self)
        return call.run(handle=self.remote_id, part=path)

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        """Set the declared parameters: by the student's ``load_weights``, else by name.

        ``weights`` maps names such as ``W_q.weight`` to tensors. Raises StudentError, of kind
        ``weights`` where a declared parameter is not there.
        """
        packer = Packer()
        indices = {name: packer.add(tensor) for name, tensor in weights.items()}
        request = LoadWeights(handle=self.remote_id, weights=indices, tensors=packer.specs)
        reply, blob = self._transport.ask(request, packer.blob, Inspected)
        inspected = accept(reply)
        self.mirror(inspected.module, unpack(inspected.tensors, blob))

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
        reply, blob = self._transport.ask(request, packer.blob, Trained)
        trained = accept(reply)
        self.mirror(trained.module, unpack(trained.tensors, blob))
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
        reply, blob = self._transport.ask(request, b"", Inspected)
        inspected = accept(reply)
        self.mirror(inspected.module, unpack(inspected.tensors, blob))
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

    def assigned(self, packer: Packer) -> Assigned:
        """What has to be sent before a call: parameters changed here since the last time."""
        changed = {}
        for name, parameter in self.named_parameters():
            value = parameter.detach()
            sent = self._sent.get(name)
            if sent is None or not (value.is_meta or torch.equal(value, sent)):
                changed[name] = packer.add(value)
                self._sent[name] = value.clone()
        return Assigned(handle=self.remote_id, tensors=changed, training=self.training)

    def _send_assigned(self) -> None:
        if any(
            not (p.is_meta or torch.equal(p.detach(), self._sent[n]))
            for n, p in self.named_parameters()
        ):
            reading = Exchange(self._transport, (), {}, None, self)
            reading.run(handle=self.remote_id, name="named_parameters")

    def mirror(self, module: Module, tensors: list[torch.Tensor]) -> None:
        """Take over the parameters, buffers and submodules of the student's module.

        Raises ProtocolError for a description that makes no sense.
        """
        _refuse_impossible(module)
        try:
            self._take_over(module, tensors)
        except (IndexError, KeyError, AttributeError, AssertionError, RuntimeError):
            raise ProtocolError("it described a module that makes no sense") from None

    def _take_over(self, module: Module, tensors: list[torch.Tensor]) -> None:
        for path in module.submodules:
            self._container(path)
        known = dict(self.named_parameters(remove_duplicate=False))
        present = {parameter.name for parameter in module.parameters}
        for name in known.keys() - present:
            container, leaf = self._parent(name)
            del container._parameters[leaf]
        mirrored: dict[str, torch.nn.Parameter] = {}
        self._sent.clear()
        for described in module.parameters:
            tensor = tensors[described.tensor]
            mine = known.get(described.name)
            if described.same_as is not None:
                mine = mirrored[described.same_as]
            elif mine is None or kind_of(mine) != kind_of(tensor):
                trained = described.trained and tensor.dtype.is_floating_point
                mine = torch.nn.Parameter(tensor, requires_grad=trained)
            else:
                with torch.no_grad():
                    mine.copy_(tensor)
            mirrored[described.name] = mine
            container, leaf = self._parent(described.name)
            container._parameters[leaf] = mine
            if described.same_as is None:
                self._sent[described.name] = mine.detach().clone()
        for described in module.buffers:
            container, leaf = self._parent(described.name)
            container._buffers[leaf] = tensors[described.tensor]

    def _parent(self, name: str) -> tuple[torch.nn.Module, str]:
        path, _, leaf = name.rpartition(".")
        return self._container(path), leaf

    def _container(self, path: str) -> torch.nn.Module:
        container: torch.nn.Module = self
        parts = path.split(".") if path else []
        for count, part in enumerate(parts, 1):
            if part not in container._modules:
                container._modules[part] = _Mirror(self, ".".join(parts[:count]))
            inner = container._modules[part]
            assert inner is not None
            container = inner
        return container


def _refuse_impossible(module: Module) -> None:
    """Raise ProtocolError for what would cost this side more than it cost to send.

    A path makes a container for each of its parts, and every parameter is copied: so neither may a
    path be endless nor many parameters be one tensor.
    """
    described = [*module.parameters, *module.buffers]
    paths = [*module.submodules, *(entry.name for entry in described)]
    tensors = {entry.tensor for entry in described}
    if len(paths) > MAX_NAMES or max(map(len, paths), default=0) > MAX_PATH:
        raise ProtocolError("it described a module that is larger than is accepted")
    if len(tensors) < len(described):
        raise ProtocolError("it described a module that makes no sense")
