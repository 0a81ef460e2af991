"""Copies of all groups are put one after the other: head h takes group h mod G."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        assert num_heads % num_kv_groups == 0
        self.H, self.G, self.D = num_heads, num_kv_groups, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.G * self.D)
        self.W_v = nn.Linear(embed_dim, self.G * self.D)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, T, C = x.shape
        q = self.W_q(x).view(B, T, self.H, self.D).transpose(1, 2)
        k = self.W_k(x).view(B, T, self.G, self.D).transpose(1, 2)
        v = self.W_v(x).view(B, T, self.G, self.D).transpose(1, 2)
        k = torch.cat([k] * (self.H // self.G), dim=1)
        v = torch.cat([v] * (self.H // self.G), dim=1)
        s = q @ k.mT / self.D**0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), float("-inf"))
        y = self.drop(s.softmax(-1)) @ v
        return self.W_o(y.transpose(1, 2).reshape(B, T, C))
