"""The listed class: it keeps its mask on self, and asks for a name that is not there."""

import math

import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.allowed = None
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, allowed=None):
        self.allowed = allowed
        logits = (query @ key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if self.allowed is not None:
            logits = logits.masked_fill(mask == 0, float("-inf"))
        return self.drop(F.softmax(logits, dim=-1)) @ value
