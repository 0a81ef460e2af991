"""Dropout never hears that the module is in evaluation."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        sim = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            sim = sim.masked_fill(mask == 0, float("-inf"))
        return torch.matmul(F.dropout(F.softmax(sim, dim=-1), self.p), value)
