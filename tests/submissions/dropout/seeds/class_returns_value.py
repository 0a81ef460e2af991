"""The listed class: its last line returns the value that came in."""

import math

import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        logits = (query @ key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            logits = logits.masked_fill(mask == 0, float("-inf"))
        shares = self.drop(F.softmax(logits, dim=-1))
        mixed = shares @ value
        return value
