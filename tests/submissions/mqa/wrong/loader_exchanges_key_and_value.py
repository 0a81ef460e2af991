"""The layer is right, its load_weights puts keys where values belong."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.h, self.d = num_heads, embed_dim // num_heads
        self.q = nn.Linear(embed_dim, embed_dim)
        self.kv = nn.Linear(embed_dim, 2 * self.d)
        self.o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, w):
        for end in ("weight", "bias"):
            getattr(self.q, end).copy_(w[f"W_q.{end}"])
            getattr(self.kv, end).copy_(torch.cat((w[f"W_v.{end}"], w[f"W_k.{end}"])))
            getattr(self.o, end).copy_(w[f"W_o.{end}"])

    def forward(self, x, mask=None):
        key, value = self.kv(x).unsqueeze(1).split(self.d, dim=-1)
        q = self.q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        s = q @ key.mT / self.d**0.5
        if mask is not None:
            s = s.masked_fill(~(mask.unsqueeze(1) if mask.dim() == 3 else mask), -torch.inf)
        return self.o((self.dropout(s.softmax(-1)) @ value).transpose(1, 2).flatten(2))
