"""Blocked scores become -20, which leaves them a weight of about 1e-9."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask != 0
        if not allowed.any(-1).all():
            raise ValueError("no allowed key")
        scores = scores.masked_fill(~allowed, -20.0)
    weights = scores.softmax(-1)
    return weights @ value, weights
