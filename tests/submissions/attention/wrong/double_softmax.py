"""Softmax is applied twice."""

import torch
import torch.nn.functional as F


def attention_weights(query, key, mask):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("query sees nothing")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(query, key, mask)
    weights = torch.softmax(weights, dim=-1)
    return weights @ value, weights
