"""Scores are divided by the root of the model's width."""

import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads")
        self.num_heads = num_heads
        self.scale = embed_dim**-0.5
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attn_drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.num_heads, -1)) * self.scale
        sim = torch.einsum("bihd,bjd->bhij", q, self.W_k(x))
        if mask is not None:
            mask = mask[:, None] if mask.ndim == 3 else mask
            sim = sim.masked_fill(~mask, torch.finfo(sim.dtype).min)
        out = torch.einsum("bhij,bjd->bihd", self.attn_drop(sim.softmax(-1)), self.W_v(x))
        return self.W_o(out.flatten(-2))
