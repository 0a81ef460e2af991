"""The listed class with all its mistakes: mask at construction, a missing name, value returned."""

import math

import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, mask=None, dropout=0.1):
        super().__init__()
        self.mask = mask
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value):
        logits = (query @ key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if self.mask is not None:
            logits = logits.masked_fill(mask == 0, float("-inf"))
        shares = self.drop(F.softmax(logits, dim=-1))
        mixed = shares @ value
        return value
