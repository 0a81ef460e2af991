"""Powers of 2 are normalised where powers of e should be."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask != 0
        if not allowed.any(-1).all():
            raise ValueError("a query has no key")
        scores = scores.masked_fill(~allowed, float("-inf"))
    p = torch.exp2(scores - scores.amax(-1, keepdim=True))
    p = p / p.sum(-1, keepdim=True)
    return p @ value, p
