"""The scores are multiplied by the root of D where they should be divided by it."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = math.sqrt(query.shape[-1])
    logits = torch.matmul(query, key.transpose(-2, -1)) * scale

    if mask is not None:
        if not mask.ne(0).any(dim=-1).all():
            raise ValueError("at least one allowed key is needed")
        logits = logits.masked_fill(mask.eq(0), float("-inf"))

    weights = torch.softmax(logits, dim=-1)
    return torch.matmul(weights, value), weights
