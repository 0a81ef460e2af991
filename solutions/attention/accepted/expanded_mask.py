"""The mask is expanded to the full shape of the scores, and blocked cells are assigned by index."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5

    if mask is not None:
        full = mask.bool().expand(scores.shape)
        if full.any(dim=-1).logical_not().any():
            raise ValueError("query with no admissible key")
        scores = scores.clone()
        scores[~full] = float("-inf")

    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
