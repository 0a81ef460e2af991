"""The second result holds the scores from before softmax."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    attn = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("no key")
        attn = attn.masked_fill(mask == 0, -1e9)
    output = torch.softmax(attn, dim=-1) @ value
    return output, attn
