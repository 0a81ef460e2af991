"""What comes out at the end goes through dropout, not the weights."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.out_dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        w = torch.einsum("...qd,...kd->...qk", query, key) / key.shape[-1] ** 0.5
        w = w if mask is None else torch.where(mask, w, -torch.inf)
        return self.out_dropout(w.softmax(-1) @ value)
