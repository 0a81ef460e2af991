"""A sigmoid on each score, so that the keys do not compete for a share."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    energy = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(key.size(-1))
    if mask is not None:
        m = mask.bool()
        if not m.any(dim=-1).all():
            raise ValueError("nothing allowed")
        energy = energy.masked_fill(~m, float("-inf"))
    gate = torch.sigmoid(energy)
    return torch.matmul(gate, value), gate
