"""Takes query, key and value, but no mask."""

import torch


def scaled_dot_product_attention(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
