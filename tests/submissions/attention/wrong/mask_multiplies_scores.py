"""The scores are multiplied by the mask before softmax."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        gate = (mask != 0).to(scores.dtype)
        if (gate.sum(dim=-1) == 0).any():
            raise ValueError("closed for a query")
        scores = scores * gate
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
