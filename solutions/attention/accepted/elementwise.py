"""No matrix product anywhere: broadcast, multiply, and sum over the shared axis."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    q = query.unsqueeze(-2)  # (..., T, 1, D)
    k = key.unsqueeze(-3)  # (..., 1, S, D)
    v = value.unsqueeze(-3)  # (..., 1, S, Dv)

    scores = (q * k).sum(dim=-1) / query.size(-1) ** 0.5
    if mask is not None:
        visible = mask != 0
        if not visible.any(dim=-1).all():
            raise ValueError("a query sees no key")
        scores = scores.masked_fill(~visible, float("-inf"))

    weights = torch.softmax(scores, dim=-1)
    output = (weights.unsqueeze(-1) * v).sum(dim=-2)
    return output, weights
