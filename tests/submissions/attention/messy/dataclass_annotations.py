"""A dataclass whose annotations are strings, which needs its module to be known by name."""

from __future__ import annotations

import dataclasses
import typing

import torch


@dataclasses.dataclass(frozen=True)
class Scale:
    width: int
    power: typing.ClassVar[float] = -0.5
    cache: dataclasses.InitVar[dict[int, float] | None] = None

    def __call__(self) -> float:
        return self.width**self.power


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = query @ key.transpose(-2, -1) * Scale(query.shape[-1])()
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("nothing allowed")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
