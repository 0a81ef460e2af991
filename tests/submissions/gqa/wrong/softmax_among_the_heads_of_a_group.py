"""Softmax runs over the query heads of a group."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.g, self.r, self.d = num_kv_groups, num_heads // num_kv_groups, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * self.d)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * self.d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.g, self.r, self.d))
        k = self.W_k(x).unflatten(-1, (self.g, self.d))
        v = self.W_v(x).unflatten(-1, (self.g, self.d))
        s = torch.einsum("btgrd,bsgd->bgrts", q, k) / self.d**0.5
        if mask is not None:
            mask = (mask[:, None] if mask.dim() == 3 else mask).expand(
                x.shape[0], self.g * self.r, -1, -1
            )
            s = s.masked_fill(~mask.unflatten(1, (self.g, self.r)), -1e9)
        w = self.dropout(torch.softmax(s, dim=2))
        return self.W_o(torch.einsum("bgrts,bsgd->btgrd", w, v).flatten(2))
