"""The maximum is taken before masking, so one large blocked score makes the row 0 divided by 0."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("no key allowed")
        e = e * allowed
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ value, weights
