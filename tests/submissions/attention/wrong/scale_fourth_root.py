"""Only the query gets the fourth root of D; the key, which should get the other one, does not."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    query = query * query.shape[-1] ** -0.25
    scores = query @ key.mT
    if mask is not None:
        mask = mask.bool()
        if not mask.any(-1).all():
            raise ValueError("mask row without True")
        scores = scores.masked_fill(~mask, -torch.inf)
    w = scores.softmax(-1)
    return w @ value, w
