"""Scores are divided by the root of the width of all key heads together."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.h, self.g = num_heads, num_kv_groups
        kv_dim = num_kv_groups * (embed_dim // num_heads)
        self.scale = kv_dim**-0.5
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k, self.W_v = nn.Linear(embed_dim, kv_dim), nn.Linear(embed_dim, kv_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k = self.W_k(x).unflatten(-1, (self.g, -1)).transpose(1, 2)
        v = self.W_v(x).unflatten(-1, (self.g, -1)).transpose(1, 2)
        k, v = (z.repeat_interleave(self.h // self.g, dim=1) for z in (k, v))
        s = q @ k.mT * self.scale
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))
