"""The exponentials are divided by the sum over the whole tensor, batch included."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask != 0
        if not allowed.any(dim=-1).all():
            raise ValueError("mask has an empty row")
        scores = scores.masked_fill(~allowed, float("-inf"))
    e = torch.exp(scores - scores.max())
    weights = e / e.sum()
    return weights @ value, weights
