"""True is taken to mean blocked, with a finite fill, so an all-true mask gives equal weights."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    attn = query @ key.mT * query.shape[-1] ** -0.5
    if mask is not None:
        if (mask == 0).all(dim=-1).any():
            raise ValueError("bad mask")
        attn = torch.where(mask != 0, torch.full_like(attn, -1e9), attn)
    attn = torch.softmax(attn, dim=-1)
    return attn @ value, attn
