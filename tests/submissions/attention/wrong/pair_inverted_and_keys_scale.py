"""True blocks, and the scale is the root of the number of keys."""

import math

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    n_keys = key.shape[-2]
    s = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(n_keys)
    if mask is not None:
        if not mask.ne(0).any(dim=-1).all():
            raise ValueError("no key")
        s = s.masked_fill(mask.ne(0), -1e9)
    a = F.softmax(s, dim=-1)
    return torch.matmul(a, value), a
