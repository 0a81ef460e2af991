"""Key and value heads are averaged into one that all query heads share."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.h, self.g = num_heads, num_kv_groups
        d = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k = self.W_k(x).unflatten(-1, (self.g, -1)).mean(2).unsqueeze(1)
        v = self.W_v(x).unflatten(-1, (self.g, -1)).mean(2).unsqueeze(1)
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))
