"""Right: a query without keys is refused, and integers are read as truth values."""

import math

import torch


def scaled_dot_product_attention(q, k, v, allowed=None):
    logits = (q @ k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
    if allowed is None:
        allowed = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device)
    else:
        allowed = allowed.to(torch.bool)
        if not allowed.any(dim=-1).all():
            raise ValueError("a query may attend to no key at all")
    logits = logits.masked_fill(~allowed, torch.finfo(logits.dtype).min)
    shares = torch.softmax(logits, dim=-1)
    return shares @ v, shares
