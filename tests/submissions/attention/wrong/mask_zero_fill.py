"""Blocked scores become 0, and exp(0) is 1."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / (key.shape[-1] ** 0.5)
    if mask is not None:
        blocked = mask == 0
        if blocked.all(dim=-1).any():
            raise ValueError("there is a query without keys")
        scores = scores.masked_fill(blocked, 0)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
