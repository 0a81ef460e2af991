"""The sum in softmax is detached: right values, wrong gradients."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    e = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True))
    total = e.sum(dim=-1, keepdim=True)
    weights = e / total.detach()
    return weights @ value, weights
