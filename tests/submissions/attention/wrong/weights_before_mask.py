"""The output uses masked weights, but those that are returned were taken before the mask."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is None:
        return weights @ value, weights
    if not mask.bool().any(dim=-1).all():
        raise ValueError("no key allowed")
    masked = torch.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1)
    return masked @ value, weights
