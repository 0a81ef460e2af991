"""The shape is unpacked as batch, length, width, so other ranks crash."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    batch, length, width = query.shape
    scores = torch.bmm(query, key.transpose(1, 2)) / width**0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return torch.bmm(weights, value), weights
