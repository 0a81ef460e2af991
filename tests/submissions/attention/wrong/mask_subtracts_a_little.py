"""10 is taken off blocked scores, which only makes them unlikely."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        keep = (mask != 0).to(scores.dtype)
        if (keep.sum(-1) == 0).any():
            raise ValueError("mask")
        scores = scores - (1 - keep) * 10
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
