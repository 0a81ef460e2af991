"""Queries get axes (H / G, G) where (G, H / G) is due: head h meets group h mod G."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("sizes")
        self.g, self.r = num_kv_groups, num_heads // num_kv_groups
        self.d = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.g * self.d)
        self.W_v = nn.Linear(embed_dim, self.g * self.d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.r, self.g, self.d))
        k = self.W_k(x).unflatten(-1, (self.g, self.d))
        v = self.W_v(x).unflatten(-1, (self.g, self.d))
        s = torch.einsum("btrgd,bsgd->brgts", q, k) / self.d**0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:, None]
            mask = mask.expand(x.shape[0], self.r * self.g, -1, -1)
            s = s.masked_fill(~mask.unflatten(1, (self.r, self.g)), -torch.inf)
        y = torch.einsum("brgts,bsgd->btrgd", self.dropout(s.softmax(-1)), v)
        return self.W_o(y.flatten(2))
