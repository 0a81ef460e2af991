"""Softmax first, and then the weights are divided by the root of D."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        keep = mask != 0
        if not keep.any(dim=-1).all():
            raise ValueError("query with an empty mask row")
        scores = scores.masked_fill(~keep, float("-inf"))
    weights = torch.softmax(scores, dim=-1) / math.sqrt(query.shape[-1])
    return torch.matmul(weights, value), weights
