"""The scores go through dropout, and softmax comes after it."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, query, key, value, mask=None):
        logits = query.matmul(key.transpose(-2, -1)) * query.shape[-1] ** -0.5
        logits = self.drop(logits)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        return self.softmax(logits).matmul(value)
