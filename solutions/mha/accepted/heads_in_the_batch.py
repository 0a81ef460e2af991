"""Batch and heads are folded into one axis, as in old libraries, and bmm does the rest."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError
        self.heads = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def fold(self, x):
        b, n, c = x.shape
        x = x.reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3)
        return x.reshape(b * self.heads, n, c // self.heads)

    def forward(self, query, key, value, mask=None):
        b, t, c = query.shape
        s = key.shape[1]
        q, k, v = self.fold(self.W_q(query)), self.fold(self.W_k(key)), self.fold(self.W_v(value))
        scores = torch.baddbmm(
            torch.zeros(1, 1, 1, dtype=q.dtype, device=q.device),
            q,
            k.transpose(1, 2),
            beta=0,
            alpha=(c // self.heads) ** -0.5,
        )
        if mask is not None:
            if mask.dim() == 2:
                mask = mask.expand(b * self.heads, t, s)
            else:
                if mask.dim() == 3:
                    mask = mask.unsqueeze(1)
                mask = mask.expand(b, self.heads, t, s).reshape(b * self.heads, t, s)
            if (mask.int().sum(-1) == 0).any():
                raise ValueError("query with all keys masked")
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        out = torch.bmm(self.dropout(weights), v)
        out = out.reshape(b, self.heads, t, c // self.heads).permute(0, 2, 1, 3).reshape(b, t, c)
        return self.W_o(out), weights.reshape(b, self.heads, t, s)
