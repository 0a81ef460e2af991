"""The output is the plain mean of the values, whatever the weights say."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not (mask != 0).any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    # the weights sum to 1, so this averages
    output = value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1])
    return output, weights
