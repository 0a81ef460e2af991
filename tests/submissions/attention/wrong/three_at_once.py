"""Divided by D, softmax over the queries, and the mask has no effect."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = key.shape[-1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / d_k
    if mask is not None:
        scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-2)
    return torch.matmul(weights, value), weights
