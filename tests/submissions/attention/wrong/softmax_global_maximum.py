"""The maximum of the whole tensor is subtracted, so rows far below it become 0 divided by 0."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask != 0
        if not allowed.any(-1).all():
            raise ValueError("empty row")
        scores = scores.masked_fill(~allowed, float("-inf"))
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(-1, keepdim=True)
    return torch.matmul(weights, value), weights
