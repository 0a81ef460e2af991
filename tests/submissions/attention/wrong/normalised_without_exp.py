"""The scores are divided by their sum, without an exponential."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        keep = mask != 0
        if not keep.any(-1).all():
            raise ValueError("all blocked")
        scores = scores * keep
    weights = scores / scores.sum(dim=-1, keepdim=True)
    return weights @ value, weights
