"""Queries and keys are brought to length 1 first: cosine similarity."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    q = F.normalize(query, dim=-1)
    k = F.normalize(key, dim=-1)
    scores = q @ k.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        blocked = mask == 0
        if blocked.all(dim=-1).any():
            raise ValueError("all keys are blocked for a query")
        scores = scores.masked_fill(blocked, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights
