"""A coin is thrown for each weight by hand; the survivors stay as they are."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.rate = dropout

    def forward(self, query, key, value, mask=None):
        a = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(
            torch.tensor(False) if mask is None else ~mask, float("-inf")
        )
        a = a.softmax(dim=-1)
        if self.training:
            a = a * (torch.rand_like(a) >= self.rate)
        return a @ value
