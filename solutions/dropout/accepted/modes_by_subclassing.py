"""`train` is overridden to set the rate that is in force; the constructor starts in training."""

import torch
import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.chosen = dropout
        self.in_force = dropout

    def train(self, mode=True):
        self.in_force = self.chosen if mode else 0.0
        return super().train(mode)

    def forward(self, query, key, value, mask=None):
        scale = torch.rsqrt(torch.tensor(query.shape[-1], dtype=query.dtype))
        logits = (query @ key.transpose(-2, -1)) * float(scale)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        weights = logits.log_softmax(-1).exp()
        return F.dropout(weights, self.in_force) @ value
