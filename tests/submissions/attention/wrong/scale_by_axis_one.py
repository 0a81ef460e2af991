"""The width is read from shape[1], which is the number of heads, or of queries."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("A query needs a key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
