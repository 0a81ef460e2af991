"""The attention class of the section before is used and not there."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        if num_heads % num_kv_groups != 0:
            raise ValueError("num_heads has to be a multiple of num_kv_groups")
        self.num_heads = num_heads
        self.num_kv_groups = num_kv_groups
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * self.head_dim)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * self.head_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attention = MaskedScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        batch, length, width = x.size()
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        queries = self.W_q(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_k(x).view(batch, length, self.num_kv_groups, self.head_dim).transpose(1, 2)
        values = self.W_v(x).view(batch, length, self.num_kv_groups, self.head_dim).transpose(1, 2)
        heads_per_group = self.num_heads // self.num_kv_groups
        keys = keys.repeat_interleave(heads_per_group, dim=1)
        values = values.repeat_interleave(heads_per_group, dim=1)
        mixed = self.attention(queries, keys, values, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.W_o(mixed)
