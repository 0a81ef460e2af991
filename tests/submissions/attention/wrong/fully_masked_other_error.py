"""A query that may see nothing raises, but with assert and not with ValueError."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.bool()
        assert mask.any(dim=-1).all(), "every query needs a key"
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
