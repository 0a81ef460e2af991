"""The scores are divided by the width D, not by its root."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1)) / query.shape[-1]
    if mask is not None:
        blocked = mask == 0
        if blocked.all(-1).any():
            raise ValueError("query blocked everywhere")
        scores = scores.masked_fill(blocked, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
