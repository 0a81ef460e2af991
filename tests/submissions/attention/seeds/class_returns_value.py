"""A module that forgets `self.` before its mask, and returns the values it was given."""

import math

import torch
from torch import nn


class MaskedAttention(nn.Module):
    def __init__(self, mask=None, p_drop=0.1):
        super().__init__()
        self.mask = mask
        self.drop = nn.Dropout(p_drop)

    def forward(self, query, key, value):
        width = query.shape[-1]
        logits = (query @ key.transpose(-1, -2)) / math.sqrt(width)
        if self.mask is not None:
            logits = logits.masked_fill(mask == 0, -math.inf)
        shares = self.drop(torch.softmax(logits, dim=-1))
        mixed = shares @ value
        return value


def scaled_dot_product_attention(query, key, value, mask=None):
    return MaskedAttention(mask)(query, key, value)
