"""Dropout is built inside the function and always on; only the output is returned."""

import math

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None, p_drop=0.1):
    width = key.shape[-1]
    logits = (query @ key.transpose(-1, -2)) / math.sqrt(width)
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -math.inf)
    shares = torch.softmax(logits, dim=-1)
    shares = nn.Dropout(p_drop)(shares)
    return shares @ value
