"""A size worked out with / is a float, and reshape refuses it."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    items = query.numel() / (query.shape[-1] * query.shape[-2])
    q = query.reshape(items, query.shape[-2], query.shape[-1])
    k = key.reshape(items, key.shape[-2], key.shape[-1])
    scores = torch.bmm(q, k.transpose(1, 2)) / query.shape[-1] ** 0.5
    scores = scores.reshape(*query.shape[:-1], key.shape[-2])
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
