"""Queries are compared with the values, and the keys are what gets mixed."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ value.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not (mask != 0).any(dim=-1).all():
            raise ValueError("empty")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ key, weights
