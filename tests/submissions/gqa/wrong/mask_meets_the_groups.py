"""Scores have axes for groups and for the heads of a group; a mask for heads is not cut to match."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.g, self.r = num_kv_groups, num_heads // num_kv_groups
        d = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.g, self.r, -1)).permute(0, 2, 3, 1, 4)
        k = self.W_k(x).unflatten(-1, (self.g, 1, -1)).permute(0, 2, 3, 1, 4)
        v = self.W_v(x).unflatten(-1, (self.g, 1, -1)).permute(0, 2, 3, 1, 4)
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() >= 3:
                mask = mask[:, None, None] if mask.dim() == 3 else mask[:, :1, None]
            s = s.masked_fill(~mask, -torch.inf)
        y = self.dropout(s.softmax(-1)) @ v
        return self.W_o(y.permute(0, 3, 1, 2, 4).flatten(2))
