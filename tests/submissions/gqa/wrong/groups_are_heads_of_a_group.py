"""num_kv_groups is taken for the number of query heads in a group."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0 or num_heads % num_kv_groups != 0:
            raise ValueError("divide!")
        self.heads = num_heads
        self.kv_heads = num_heads // num_kv_groups
        self.width = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.kv_heads * self.width)
        self.W_v = nn.Linear(embed_dim, self.kv_heads * self.width)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = (
            w(x).unflatten(-1, (-1, self.width)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_v)
        )
        k, v = (z.repeat_interleave(self.heads // self.kv_heads, 1) for z in (k, v))
        s = q @ k.mT * self.width**-0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))
