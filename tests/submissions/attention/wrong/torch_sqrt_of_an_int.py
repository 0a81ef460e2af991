"""torch.sqrt wants a tensor and gets a Python int."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / torch.sqrt(query.shape[-1])
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
