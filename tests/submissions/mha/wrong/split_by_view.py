"""The heads are cut out of the tokens: (B, T, C) is viewed as (B, H, T, D)."""

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
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        B, T, C = query.shape
        q = self.W_q(query).reshape(B, self.h, T, C // self.h)
        k = self.W_k(key).reshape(B, self.h, -1, C // self.h)
        v = self.W_v(value).reshape(B, self.h, -1, C // self.h)
        s = q @ k.mT * (C // self.h) ** -0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if (mask.sum(-1) == 0).any():
                raise ValueError("no key")
            s = s.masked_fill(~mask, -torch.inf)
        p = s.softmax(-1)
        return self.W_o((self.drop(p) @ v).transpose(1, 2).reshape(B, T, C)), p
