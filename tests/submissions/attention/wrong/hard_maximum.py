"""All the weight goes to the best key: a maximum, not a soft one."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    best = scores.argmax(dim=-1)
    weights = F.one_hot(best, key.shape[-2]).to(value.dtype)
    return weights @ value, weights
