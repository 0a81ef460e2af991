"""The attention class of the section before is used and not there."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.head_dim)
        self.W_v = nn.Linear(embed_dim, self.head_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attention = MaskedScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        batch, length, width = x.size()
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        queries = self.W_q(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_k(x).unsqueeze(1)
        values = self.W_v(x).unsqueeze(1)
        mixed = self.attention(queries, keys, values, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.W_o(mixed)
