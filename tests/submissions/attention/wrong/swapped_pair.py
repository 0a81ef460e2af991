"""The weights come first and the output second."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("a query is left alone")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights, torch.matmul(weights, value)
