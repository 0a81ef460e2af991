"""Random inputs for checks, repeatable from one seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import torch


class Draw:
    """Draws tensors for one check; the same seed and name give the same tensors."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
        self.seed = int.from_bytes(digest[7:14], "little")
        """For the student's own random numbers. Their code can read it, so nothing else uses it."""

    def normal(
        self,
        *shape: int,
        dtype: torch.dtype = torch.float32,
        std: float = 1.0,
        requires_grad: bool = False,
    ) -> torch.Tensor:
        """Normal numbers, drawn as float32 and rounded to ``dtype``."""
        drawn = torch.randn(shape, generator=self._generator, dtype=torch.float32) * std
        return drawn.to(dtype).requires_grad_(requires_grad)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
        """Numbers spread evenly from ``low`` to ``high``."""
        return low + (high - low) * torch.rand(shape, generator=self._generator)

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """Whole numbers from ``low`` to ``high - 1``."""
        return torch.randint(low, high, shape, generator=self._generator)

    def permutation(self, length: int) -> torch.Tensor:
        """The numbers 0 to ``length - 1`` in an order other than ascending."""
        while True:
            order = torch.randperm(length, generator=self._generator)
            if length < 2 or not torch.equal(order, torch.arange(length)):
                return order

    def mask(self, *shape: int, allowed: float = 0.6) -> torch.Tensor:
        """A bool mask (..., T, S) that allows about this share, at least one key for each query.

        With two keys or more no query is allowed them all, and with two queries or more every key
        is allowed for one, as far as that can be drawn.
        """
        for _ in range(50):
            mask = self._mask_of_rows(shape, allowed)
            if len(shape) < 2 or shape[-2] == 1 or bool(mask.any(-2).all()):
                break
        return mask

    def _mask_of_rows(self, shape: tuple[int, ...], allowed: float) -> torch.Tensor:
        mask = torch.rand(shape, generator=self._generator) < allowed
        keys = shape[-1]
        first = torch.randint(0, keys, shape[:-1], generator=self._generator)
        mask.scatter_(-1, first.unsqueeze(-1), True)
        if keys > 1:
            offset = torch.randint(1, keys, shape[:-1], generator=self._generator)
            mask.scatter_(-1, ((first + offset) % keys).unsqueeze(-1), False)
        return mask

    def linear(self, outputs: int, inputs: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """A weight (outputs, inputs) at the scale that ``nn.Linear`` starts with."""
        bound = inputs**-0.5
        return self.uniform(outputs, inputs, low=-bound, high=bound).to(dtype)


class ReplayedDraw(Draw):
    """Gives the same tensors to calls in the same order: drawn once, copied afterwards."""

    def __init__(self, seed: int, name: str) -> None:
        super().__init__(seed, name)
        self._drawn: dict[tuple[Any, ...], torch.Tensor] = {}
        self._asked = 0

    def rewind(self) -> ReplayedDraw:
        """Begin again with the first."""
        self._asked = 0
        return self

    def normal(
        self,
        *shape: int,
        dtype: torch.dtype = torch.float32,
        std: float = 1.0,
        requires_grad: bool = False,
    ) -> torch.Tensor:
        drawn = self._replay(("normal", shape, dtype, std), super().normal, dtype=dtype, std=std)
        return drawn.requires_grad_(requires_grad)

    def mask(self, *shape: int, allowed: float = 0.6) -> torch.Tensor:
        return self._replay(("mask", shape, allowed), super().mask, allowed=allowed)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
        question = ("uniform", shape, low, high)
        return self._replay(question, super().uniform, low=low, high=high)

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        return self._replay(("integers", (low, high, *shape)), super().integers)

    def permutation(self, length: int) -> torch.Tensor:
        return self._replay(("permutation", (length,)), super().permutation)

    def _replay(
        self, question: tuple[Any, ...], draw: Callable[..., torch.Tensor], **options: Any
    ) -> torch.Tensor:
        self._asked += 1
        key = (self._asked, *question)
        if key not in self._drawn:
            self._drawn[key] = draw(*question[1], **options)
        return self._drawn[key].clone()
