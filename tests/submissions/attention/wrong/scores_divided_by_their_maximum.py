"""The scores are brought to a common size by dividing by their largest magnitude."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    scores = scores / scores.abs().amax(dim=-1, keepdim=True)  # scaled: everything within [-1, 1]
    if mask is not None:
        allowed = mask != 0
        if not allowed.any(dim=-1).all():
            raise ValueError("empty mask row")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
