"""The heads are brought to the front by view alone, and merged properly."""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim")
        self.heads = num_heads
        self.size = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.size)
        self.W_v = nn.Linear(embed_dim, self.size)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        n, t, c = x.size()
        query = self.W_q(x).reshape(n, self.heads, t, self.size)
        key, value = self.W_k(x)[:, None], self.W_v(x)[:, None]
        att = torch.einsum("nhtd,nosd->nhts", query, key) / math.sqrt(self.size)
        if mask is not None:
            att = att.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -math.inf)
        out = self.drop(att.softmax(-1)) @ value
        return self.W_o(out.transpose(1, 2).reshape(n, t, c))
