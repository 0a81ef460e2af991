"""The listed module: what masked_fill returns is not kept."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        logits = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        if mask is not None:
            logits.masked_fill(mask == 0, float("-inf"))
        shares = self.drop(F.softmax(logits, dim=-1))
        return shares @ v
