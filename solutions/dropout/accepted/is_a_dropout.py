"""The module is itself a dropout layer, which drops in the middle of its own forward."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Dropout):
    def __init__(self, dropout=0.1):
        super().__init__(p=dropout)

    def forward(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-1, -2)).div(query.shape[-1] ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == False, -torch.inf)  # noqa: E712
        return torch.matmul(super().forward(scores.softmax(dim=-1)), value)
