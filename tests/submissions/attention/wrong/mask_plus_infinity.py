"""Blocked scores become plus infinity: a slip of the sign that ends in NaN."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        blocked = mask == 0
        if blocked.all(dim=-1).any():
            raise ValueError("blocked query")
        scores = scores.masked_fill(blocked, float("inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
