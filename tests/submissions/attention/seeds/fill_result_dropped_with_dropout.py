"""The result of masked_fill is lost, dropout is on, and only the output returns."""

import math

import torch
from torch import nn


class MaskedAttention(nn.Module):
    def __init__(self, p_drop=0.1):
        super().__init__()
        self.drop = nn.Dropout(p_drop)

    def forward(self, q, k, v, mask=None):
        logits = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        if mask is not None:
            logits.masked_fill(mask == 0, -math.inf)
        shares = self.drop(torch.softmax(logits, dim=-1))
        return shares @ v


def scaled_dot_product_attention(query, key, value, mask=None):
    return MaskedAttention()(query, key, value, mask)
