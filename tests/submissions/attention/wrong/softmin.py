"""The sign of the scores is turned round, so the least similar key gets the most."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    distance = -torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        keep = mask != 0
        if not keep.any(-1).all():
            raise ValueError("need a key")
        distance = distance.masked_fill(~keep, float("-inf"))
    weights = torch.softmax(distance, dim=-1)
    return torch.matmul(weights, value), weights
