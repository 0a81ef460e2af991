"""Which inputs a gradient reaches, as a matrix."""

from __future__ import annotations

from collections.abc import Callable

import torch

_NOTHING = 1e-6
"""What rounding leaves of gradients that cancel."""


def gradient_reach(
    call: Callable[..., torch.Tensor], **inputs: torch.Tensor
) -> dict[str, torch.Tensor]:
    """For each of ``inputs`` a matrix: 1 where a row of the output sends a gradient to a row of it.

    ``call`` takes ``inputs`` in their order and returns the output. The rows of a tensor are those
    of its last axis but one, with all the axes before it laid out one after another.
    """
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
    output = call(*leaves.values())
    rows = output.flatten(0, -2)
    counts = {name: leaf.flatten(0, -2).shape[0] for name, leaf in leaves.items()}
    reached = {name: torch.zeros(len(rows), count) for name, count in counts.items()}
    # Squares: a plain sum of an output can be constant although none of its numbers is.
    factors = torch.arange(1.0, 1.0 + rows.shape[-1], dtype=rows.dtype) ** 2
    for place, row in enumerate(rows if rows.requires_grad else []):
        gradients = torch.autograd.grad(
            (row * factors).sum(), list(leaves.values()), allow_unused=True, retain_graph=True
        )
        for name, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                arrived = gradient.flatten(0, -2).abs().amax(-1) > _NOTHING
                reached[name][place] = arrived.to(torch.float32)
    return {f"reach of {name}": matrix for name, matrix in reached.items()}
