"""Negative numbers in an integer mask count as blocked, although they are not zero."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("row of zeros")
        scores = scores.masked_fill(~(mask > 0), -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
