"""Softmax over axis -3: the heads share out 1, or the batch where there are no heads."""

import math

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    # (B, H, T, D) x (B, H, D, S)
    logits = torch.einsum("...td,...sd->...ts", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        m = mask != 0
        if not m.any(-1).all():
            raise ValueError("bad mask")
        logits = logits.masked_fill(~m, -1e9)
    axis = -3 if logits.dim() >= 3 else -1
    probs = logits.softmax(axis)
    return torch.einsum("...ts,...sv->...tv", probs, v), probs
