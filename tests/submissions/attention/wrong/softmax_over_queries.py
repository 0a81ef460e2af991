"""Softmax runs down the columns: every key shares out 1 among the queries."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        keep = mask.bool()
        if not keep.any(dim=-1).all():
            raise ValueError("no key allowed for some query")
        scores = scores.masked_fill(~keep, -1e9)
    attn = torch.softmax(scores, dim=-2)  # over the sequence
    return torch.matmul(attn, value), attn
