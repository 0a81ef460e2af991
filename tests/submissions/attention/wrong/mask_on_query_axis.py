"""A mask of the keys is stood upright, so it blocks queries instead."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        mask = mask != 0
        if not mask.any(dim=-1).all():
            raise ValueError("no key")
        if mask.dim() == 1 or mask.shape[-2] == 1:
            mask = mask.unsqueeze(-1) if mask.dim() == 1 else mask.transpose(-2, -1)
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
