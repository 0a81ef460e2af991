"""Exponentiate, multiply by the mask, and only then divide by what is left of the sum."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.bool()
    if mask is not None and not allowed.any(-1).all():
        raise ValueError("a query without keys has no weights to share out")

    top = torch.where(allowed, scores, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    # A blocked score may lie above the top of the allowed ones; unclamped, inf * 0 would be NaN.
    e = (scores - top.detach()).clamp(max=0).exp() * allowed
    weights = e / e.sum(-1, keepdim=True)
    return weights @ value, weights
