"""The scale is the root of the number of keys, not of the width of one key."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    length = key.shape[-2]
    scores = query @ key.transpose(-2, -1) / math.sqrt(length)
    if mask is not None:
        if torch.any(torch.all(mask == 0, dim=-1)):
            raise ValueError("every key is masked for some query")
        scores = torch.where(mask == 0, float("-inf"), scores)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
