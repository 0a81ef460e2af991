"""The query is scaled, and then the scores are scaled once more."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scaling = 1.0 / math.sqrt(query.shape[-1])
    query = query * scaling

    attn_weights = torch.matmul(query, key.transpose(-2, -1)) * scaling
    if mask is not None:
        mask = mask.bool()
        if not mask.any(dim=-1).all():
            raise ValueError("mask")
        attn_weights = attn_weights.masked_fill(~mask, torch.finfo(attn_weights.dtype).min)
    attn_weights = torch.nn.functional.softmax(attn_weights, dim=-1)
    attn_output = torch.matmul(attn_weights, value)
    return attn_output, attn_weights
