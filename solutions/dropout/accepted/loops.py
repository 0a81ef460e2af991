"""One query at a time, over all leading axes, with a fresh layer that is told the module's mode."""

import math

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout_rate = dropout

    def one(self, q, K, V, allowed):
        row = (K @ q) / math.sqrt(q.shape[0])
        if allowed is not None:
            row[~allowed] = -math.inf
        layer = nn.Dropout(self.dropout_rate)
        layer.train(self.training)
        return layer(torch.softmax(row, dim=0)) @ V

    def forward(self, query, key, value, mask=None):
        *lead, T, D = query.shape
        S, Dv = key.shape[-2], value.shape[-1]
        if mask is not None:
            mask = mask.expand(*lead, T, S).reshape(-1, T, S)
        Q, K, V = query.reshape(-1, T, D), key.reshape(-1, S, D), value.reshape(-1, S, Dv)
        rows = [
            self.one(Q[n, t], K[n], V[n], None if mask is None else mask[n, t])
            for n in range(len(Q))
            for t in range(T)
        ]
        return torch.stack(rows).reshape(*lead, T, Dv)
