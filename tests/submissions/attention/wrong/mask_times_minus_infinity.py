"""The bias is (1 - mask) times minus infinity, and 0 times infinity is NaN."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        keep = (mask != 0).to(scores.dtype)
        if not keep.any(dim=-1).all():
            raise ValueError("no key for a query")
        scores = scores + (1 - keep) * float("-inf")
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
