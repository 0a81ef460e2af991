"""The random mask is drawn by hand; rate 1 is a case of its own, as 1 / (1 - 1) is infinite."""

import math

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout: float = 0.1):
        super().__init__()
        self.rate = float(dropout)

    def drop(self, weights):
        if not self.training or self.rate == 0:
            return weights
        if self.rate == 1:
            return weights * 0
        kept = torch.rand_like(weights) >= self.rate
        return torch.where(kept, weights / (1 - self.rate), 0.0)

    def forward(self, query, key, value, mask=None):
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        return self.drop(scores.softmax(-1)) @ value
