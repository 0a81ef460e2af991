"""The groups are ignored: every query head has a key and a value of its own."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.h = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(embed_dim, embed_dim) for _ in range(4)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = (
            w(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_v)
        )
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))
