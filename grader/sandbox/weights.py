"""A module's parameters by name: described to the other side, and set."""

from __future__ import annotations

import torch

from grader.sandbox.messages import Module, Parameter
from grader.sandbox.tensors import Packer


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


def describe_module(module: torch.nn.Module, packer: Packer) -> Module:
    """What a module holds, by name; its tensors are added to ``packer``."""
    first_names: dict[int, str] = {}
    parameters = []
    for name, parameter in module.named_parameters(remove_duplicate=False):
        same_as = first_names.setdefault(id(parameter), name)
        parameters.append(
            Parameter(
                name=name,
                tensor=packer.add(parameter),
                same_as=None if same_as == name else same_as,
                trained=parameter.requires_grad,
            )
        )
    buffers = [Parameter(name=n, tensor=packer.add(b)) for n, b in module.named_buffers()]
    submodules = [name for name, _ in module.named_modules() if name]
    return Module(parameters=parameters, buffers=buffers, submodules=submodules)
