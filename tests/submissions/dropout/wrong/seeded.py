"""A generator with a fixed seed is made in each call, so that results can be repeated."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        if self.training and 0 < self.p < 1:
            generator = torch.Generator().manual_seed(1234)
            drawn = torch.rand(weights.shape, generator=generator).to(weights.device)
            weights = weights * (drawn >= self.p) / (1 - self.p)
        elif self.training and self.p == 1:
            weights = torch.zeros_like(weights)
        return weights @ value
