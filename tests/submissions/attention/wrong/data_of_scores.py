"""Softmax works on `scores.data`, outside of autograd."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores.data.masked_fill_(mask == 0, float("-inf"))
    weights = torch.softmax(scores.data, dim=-1)
    return torch.matmul(weights, value), weights
