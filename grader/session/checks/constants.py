"""Protects the constant tensors of a suite from the code under test.

A submission that writes into its inputs writes into the suite's constants too, as it would in any
test; the checks that come after must not suffer for it.
"""

from __future__ import annotations

import types

import torch


class Constants:
    """The tensors among a module's globals, as they were when first seen."""

    def __init__(self) -> None:
        self._kept: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {}

    def keep(self, module: types.ModuleType) -> None:
        """Remember the constants of ``module``, if that has not been done."""
        if module.__name__ not in self._kept:
            self._kept[module.__name__] = [
                (thing, thing.detach().clone())
                for thing in vars(module).values()
                if isinstance(thing, torch.Tensor)
            ]

    def restore(self) -> None:
        """Put every constant back."""
        for constants in self._kept.values():
            for tensor, kept in constants:
                if tensor.shape != kept.shape or not torch.equal(tensor, kept):
                    tensor.data = kept.clone()
