"""`if mask:` asks a whole tensor whether it is true."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("fully masked query")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
