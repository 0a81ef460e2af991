"""The caller's mask is inverted in place."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        blocked = mask.logical_not_()
        scores = scores.masked_fill(blocked.bool(), float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
