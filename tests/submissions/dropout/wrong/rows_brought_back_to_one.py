"""After dropping, each row is divided by what is left of it."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = self.dropout(scores.softmax(-1))
        total = weights.sum(-1, keepdim=True)
        return (weights / torch.where(total > 0, total, torch.ones_like(total))) @ value
