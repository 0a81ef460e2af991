"""Everything is made of the query: another sequence cannot be looked at."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("width")
        self.h, self.d = num_heads, embed_dim // num_heads
        self.W_q, self.W_k = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.W_v, self.W_o = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        x = query
        B, T, C = x.shape
        q, k, v = (
            f(x).view(B, T, self.h, self.d).transpose(1, 2) for f in (self.W_q, self.W_k, self.W_v)
        )
        s = q @ k.mT / self.d**0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if (mask.sum(-1) == 0).any():
                raise ValueError("no key")
            s = s.masked_fill(~mask, -torch.inf)
        p = s.softmax(-1)
        return self.W_o((self.drop(p) @ v).transpose(1, 2).reshape(B, T, C)), p
