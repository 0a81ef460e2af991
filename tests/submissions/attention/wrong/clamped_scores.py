"""Scores are clamped to [-20, 20] against overflow, which makes all large ones equal."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT) / query.shape[-1] ** 0.5
    scores = torch.clamp(scores, -20.0, 20.0)
    if mask is not None:
        m = mask.bool()
        if not m.any(-1).all():
            raise ValueError("no keys for this query")
        scores = scores.masked_fill(~m, float("-inf"))
    e = scores.exp()
    weights = e / e.sum(-1, keepdim=True)
    return torch.matmul(weights, value), weights
