"""`.cuda()` is called without asking whether there is a GPU."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    query, key, value = query.cuda(), key.cuda(), value.cuda()
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask.cuda() == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
