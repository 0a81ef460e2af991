"""`1 - mask` refuses bool masks."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if (mask.sum(dim=-1) == 0).any():
            raise ValueError("mask row sums to zero")
        scores = scores + (1 - mask) * -1e9
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
