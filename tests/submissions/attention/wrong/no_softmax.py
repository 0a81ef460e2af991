"""The scaled scores are used as weights directly."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    attn = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key for a query")
        attn = attn.masked_fill(mask == 0, 0.0)
    return torch.matmul(attn, value), attn
