"""Memory is read as if it lay in order, so transposed inputs are silently misread."""

import torch


def in_order(x):
    strides, step = [], 1
    for size in reversed(x.shape):
        strides.insert(0, step)
        step *= size
    return torch.as_strided(x, x.shape, strides)


def scaled_dot_product_attention(query, key, value, mask=None):
    q, k, v = in_order(query), in_order(key), in_order(value)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
