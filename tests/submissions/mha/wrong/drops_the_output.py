"""Dropout comes after W_o; the weights are never dropped."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("width")
        self.h = num_heads
        self.W_q, self.W_k = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.W_v, self.W_o = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.resid_drop = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(2, (self.h, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.W_q(query)), self.split(self.W_k(key)), self.split(self.W_v(value))
        scores = q @ k.mT * k.shape[-1] ** -0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if not mask.any(-1).all():
                raise ValueError("no key")
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return self.resid_drop(self.W_o((weights @ v).transpose(1, 2).flatten(2))), weights
