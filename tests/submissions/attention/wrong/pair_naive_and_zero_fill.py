"""exp without a shift, and blocked scores of 0."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    x = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        m = mask.bool()
        if not m.any(-1).all():
            raise ValueError("no key")
        x = torch.where(m, x, torch.zeros_like(x))
    top = x.exp()
    weights = top / top.sum(-1, keepdim=True)
    return weights @ value, weights
