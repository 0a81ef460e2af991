"""Einsum throughout; key and value never get a head axis."""

import torch
from torch import einsum, nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim}")
        self.n = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads, bias=False)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(2, (self.n, -1))
        k, v = self.W_k(x), self.W_v(x)
        s = einsum("bthd,bsd->bhts", q, k) / q.size(-1) ** 0.5
        if mask is not None:
            while mask.ndim < 4:
                mask = mask.unsqueeze(-3)
            s = torch.where(mask, s, torch.full_like(s, torch.finfo(s.dtype).min))
        a = self.drop(s.softmax(3))
        y = einsum("bhts,bsd->bthd", a, v)
        return self.W_o(y.flatten(2))
