"""Softmax always runs in float32, and the weights are cast back to the dtype that came in."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5

    if mask is not None:
        mask = mask.type(torch.bool)
        if not mask.any(dim=-1).all():
            raise ValueError("a query attends to nothing")
        scores = scores.masked_fill(~mask, float("-inf"))

    weights = F.softmax(scores, dim=-1, dtype=torch.float32).type_as(query)
    return weights @ value, weights
