"""The module reads a global mask of the demonstration instead of its own."""

import math

import torch
from torch import nn

mask = torch.ones(1, 1)  # left over from trying it out


class MaskedAttention(nn.Module):
    def __init__(self, mask=None):
        super().__init__()
        self.mask = mask

    def forward(self, query, key, value):
        width = query.shape[-1]
        logits = (query @ key.transpose(-1, -2)) / math.sqrt(width)
        if self.mask is not None:
            logits = logits.masked_fill(mask == 0, -math.inf)
        shares = torch.softmax(logits, dim=-1)
        return shares @ value, shares


def scaled_dot_product_attention(query, key, value, mask=None):
    return MaskedAttention(mask)(query, key, value)
