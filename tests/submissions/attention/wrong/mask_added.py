"""The mask of zeros and ones is added to the scores: allowed keys gain 1, none is blocked."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("mask blocks a whole row")
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
