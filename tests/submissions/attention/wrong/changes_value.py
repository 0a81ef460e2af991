"""The caller's values are centred in place for accuracy; the output gets the mean back."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    mean = value.detach().mean(dim=-2, keepdim=True)
    value.data -= mean
    return weights @ value + mean, weights
