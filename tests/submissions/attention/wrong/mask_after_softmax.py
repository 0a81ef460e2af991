"""Blocked weights are set to zero after softmax, so blocked keys still count in the total."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.shape[-1]
    weights = F.softmax(query @ key.transpose(-2, -1) / d**0.5, dim=-1)
    if mask is not None:
        if not (mask != 0).any(dim=-1).all():
            raise ValueError("mask without keys")
        weights = weights.masked_fill(mask == 0, 0.0)
    return weights @ value, weights
