"""torch.where picks between the score and minus infinity."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    # (..., T, D) @ (..., D, S) -> (..., T, S)
    s = query.matmul(key.transpose(-1, -2)).div(math.sqrt(query.size(-1)))

    if mask is not None:
        s = torch.where(mask != 0, s, -math.inf)
        if s.isneginf().all(dim=-1).any():
            raise ValueError("at least one query has no key to attend to")

    a = torch.softmax(s, -1)
    return a.matmul(value), a
