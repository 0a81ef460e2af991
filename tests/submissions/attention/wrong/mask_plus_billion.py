"""Blocked scores become +1e9, so all the weight goes to them."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        m = mask.bool()
        if not m.any(-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(~m, 1e9)
    w = scores.softmax(-1)
    return torch.einsum("...qk,...kv->...qv", w, value), w
