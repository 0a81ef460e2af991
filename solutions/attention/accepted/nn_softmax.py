"""An nn.Softmax object that lives at the top of the file."""

import torch
import torch.nn as nn

SOFTMAX = nn.Softmax(dim=-1)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
):
    """
    Args:
        query: shape (..., T, D)
        key:   shape (..., S, D)
        value: shape (..., S, Dv)
        mask:  broadcasts to (..., T, S); zero or False blocks

    Returns:
        output: shape (..., T, Dv)
        weights: shape (..., T, S)
    """
    sqrt_d = query.shape[-1] ** 0.5
    scores = query @ key.transpose(-2, -1) / sqrt_d
    if mask is not None:
        has_key = (mask != 0).any(dim=-1)
        if not has_key.all():
            raise ValueError(f"{int((~has_key).sum())} rows of the mask allow no key")
        scores = scores.masked_fill(mask == 0, -1e30)
    weights = SOFTMAX(scores)
    output = weights @ value
    return output, weights
