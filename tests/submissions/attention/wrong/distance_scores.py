"""Scores are negative distances between queries and keys, not products."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    gaps = query.unsqueeze(-2) - key.unsqueeze(-3)
    scores = -gaps.pow(2).sum(-1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(-1).all():
            raise ValueError("no neighbour for a query")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
