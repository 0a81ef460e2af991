"""The parameters have other names."""

import math

import torch


def scaled_dot_product_attention(q, k, v, m=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if m is not None:
        m = m.bool()
        if not m.any(dim=-1).all():
            raise ValueError("m blocks a whole row")
        s = s.masked_fill(~m, -math.inf)
    w = s.softmax(dim=-1)
    return w @ v, w
