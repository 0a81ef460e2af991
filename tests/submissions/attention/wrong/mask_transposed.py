"""The mask is read as (keys, queries)."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.bool()
        if not mask.any(dim=-1).all():
            raise ValueError("query without a key")
        if mask.dim() > 1:
            mask = mask.transpose(-2, -1)
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
