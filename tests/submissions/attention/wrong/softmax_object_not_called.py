"""nn.Softmax(scores) builds a layer; it does not apply one."""

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = nn.Softmax(scores)
    return torch.matmul(weights, value), weights
