"""Each row of scores is given length 1 instead of sum 1."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT) * query.shape[-1] ** -0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("mask is empty for a query")
        scores = scores.masked_fill(~allowed, 0)
    weights = F.normalize(scores, p=2, dim=-1)
    return torch.matmul(weights, value), weights
