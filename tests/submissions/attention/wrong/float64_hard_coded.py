"""For accuracy all is done in float64, and the results stay in it."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    q, k, v = query.double(), key.double(), value.double()
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights
