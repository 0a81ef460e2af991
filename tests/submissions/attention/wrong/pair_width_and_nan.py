"""Divided by D, and fully masked queries come back as NaN."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1))
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = torch.softmax(att, dim=-1)
    return att @ v, att
