"""The mask is checked, and then never applied."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    if mask is not None and not mask.bool().any(dim=-1).all():
        raise ValueError("each query needs at least one key")
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
