"""The keys are reshaped to (D, S), which is not what a transpose does."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    k_t = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    scores = torch.matmul(query, k_t) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
