"""A module's parameters by name: described to the other side, and set."""

from __future__ import annotations

import torch

from grader.wire.budget import MAX_DIMS, MODULE_NAMES, NAME_CHARACTERS
from grader.wire.messages import Entries, Module, Parameter, Problem, TensorRef
from grader.wire.tensors import NAMES, Packer, Unsendable, UnusableTensor

_TOO_MANY: Problem = "a module with more parts or names than this grader accepts"


class WrongWeights(Exception):
    """The declared parameters cannot be set; the text says which."""


def set_by_name(module: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Set the parameters of ``module`` that ``weights`` names; a missing bias is fine.

    Raises WrongWeights, saying which parameter is missing or has another shape.
    """
    parameters = dict(module.named_parameters(remove_duplicate=False))
    for name, tensor in weights.items():
        parameter = parameters.get(name)
        if parameter is None and name.endswith(".bias"):
            continue
        if parameter is None:
            there = ", ".join(parameters) or "no parameters at all"
            raise WrongWeights(
                f"there is no parameter {name}; the module has {there}. Name it so, or write "
                "load_weights(self, weights) in your class"
            )
        if parameter.shape != tensor.shape:
            raise WrongWeights(
                f"{name} has shape {tuple(parameter.shape)}, expected {tuple(tensor.shape)}"
            )
        parameter.copy_(tensor)


def describe_module(module: torch.nn.Module) -> Module:
    """What a module holds, by name, without the numbers; raises Unsendable."""
    first_names: dict[int, str] = {}
    names = Names()
    parameters = []
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.add(name, of_tensor=True)
        described = _described(name, parameter)
        same_as = first_names.setdefault(id(parameter), name)
        described.same_as = None if same_as == name else same_as
        parameters.append(described)
    buffers = []
    for name, buffer in module.named_buffers():
        names.add(name, of_tensor=True)
        buffers.append(_described(name, buffer))
    submodules = []
    for name, _ in module.named_modules():
        if name:
            names.add(name)
            submodules.append(name)
    return Module(parameters=parameters, buffers=buffers, submodules=submodules)


def read_numbers(module: torch.nn.Module, names: list[str], packer: Packer) -> Entries:
    """Parameters and buffers by name, as far as they are there; raises Unsendable."""
    held = dict(module.named_buffers(remove_duplicate=False))
    held |= module.named_parameters(remove_duplicate=False)
    there = [name for name in names if name in held]
    return Entries(items={name: TensorRef(index=packer.add(held[name])) for name in there})


class Names:
    """Counts what a module's names make on the other side: a module for each of their parts."""

    def __init__(self) -> None:
        self.count = 0
        self._known: set[str] = set()

    def add(self, name: str, *, of_tensor: bool = False) -> None:
        """Count one more; raises Unsendable where that is too many, or the name too long."""
        self.count += 1
        path = name.rpartition(".")[0] if of_tensor else name
        while path and path not in self._known and self._fits(name):
            self._known.add(path)
            self.count += 1
            path = path.rpartition(".")[0]
        if not self._fits(name):
            raise Unsendable(_TOO_MANY, self.count)

    def _fits(self, name: str) -> bool:
        return self.count <= MODULE_NAMES and len(name) <= NAME_CHARACTERS


def _described(name: str, tensor: torch.Tensor) -> Parameter:
    if tensor.dtype not in NAMES:
        raise UnusableTensor("a tensor of an unusual dtype")
    if tensor.dim() > MAX_DIMS:
        raise UnusableTensor("a tensor with too many axes")
    return Parameter(
        name=name,
        shape=list(tensor.shape),
        dtype=NAMES[tensor.dtype],
        device="meta" if tensor.is_meta else "cpu",
        trained=tensor.requires_grad,
    )
