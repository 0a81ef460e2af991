"""A new dropout layer on each call, always in training mode, drops weights at random."""

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = nn.Dropout(p=0.2)(torch.softmax(scores, dim=-1))
    return torch.matmul(weights, value), weights
