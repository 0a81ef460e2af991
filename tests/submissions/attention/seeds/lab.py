"""Right for bool masks: a query without keys is refused, but integer masks crash."""

import math

import torch


def scaled_dot_product_attention(q, k, v, allowed=None):
    logits = (q @ k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
    if allowed is not None:
        has_key = allowed.any(dim=-1)
        if not has_key.all():
            raise ValueError("a query may attend to no key at all")
        logits = logits.masked_fill(~allowed, -math.inf)
    shares = torch.softmax(logits, dim=-1)
    return shares @ v, shares
