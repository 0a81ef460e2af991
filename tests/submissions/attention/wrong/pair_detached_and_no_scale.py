"""Detached weights, and no scale."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    with torch.no_grad():
        scores = query @ key.transpose(-2, -1)
        if mask is not None:
            if not (mask != 0).any(dim=-1).all():
                raise ValueError("no key")
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
