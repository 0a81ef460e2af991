"""One coin a key: all queries lose it together."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.coin = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        kept = self.coin(torch.ones_like(key[..., 0])).unsqueeze(-2)
        return (scores.softmax(-1) * kept) @ value
