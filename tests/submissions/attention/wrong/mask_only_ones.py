"""Only the integer 1 counts as allowed; other numbers that are not zero are blocked."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("row of zeros")
        scores = scores.masked_fill(mask != 1, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
