"""Later keys are always hidden, also where no mask was asked for."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    T, S = query.size(-2), key.size(-2)
    allowed = torch.ones(T, S, dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("a query without keys")
        allowed = allowed & mask.bool()
    att = (query @ key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    att = att.masked_fill(~allowed, torch.finfo(att.dtype).min)
    att = torch.softmax(att, dim=-1)
    return att @ value, att
