"""As many keys as queries are required."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    assert query.shape == key.shape, f"shapes differ: {query.shape} and {key.shape}"
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
