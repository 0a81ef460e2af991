"""Queries get an axis of groups; nothing is repeated."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim / num_heads")
        if num_heads % num_kv_groups:
            raise ValueError("num_heads / num_kv_groups")
        self.groups, self.per_group = num_kv_groups, num_heads // num_kv_groups
        self.width = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * self.width)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * self.width)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        g, r, d = self.groups, self.per_group, self.width
        q = self.W_q(x).unflatten(-1, (g, r, d))
        k = self.W_k(x).unflatten(-1, (g, d))
        v = self.W_v(x).unflatten(-1, (g, d))
        s = torch.einsum("btgrd,bsgd->bgrts", q, k) / d**0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:, None, None]
            elif mask.dim() == 4:
                mask = mask[:, :, None] if mask.shape[1] == 1 else mask.unflatten(1, (g, r))
            s = s.masked_fill(~mask, float("-inf"))
        w = self.dropout(s.softmax(-1))
        y = torch.einsum("bgrts,bsgd->btgrd", w, v)
        return self.W_o(y.flatten(2))
