"""`d ** 1 / 2` is half of d: the root that was meant needs brackets."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / (d ** 1 / 2)
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(-1).all():
            raise ValueError("no keys")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights
