"""A loop over heads, each of which takes its own slice of the projected columns."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim))
        self.dropout = nn.Dropout(p=dropout)

    def mask_of(self, mask, head):
        if mask is None or mask.dim() < 4:
            return mask
        return mask[:, head if mask.shape[1] > 1 else 0]

    def forward(self, query, key, value, mask=None):
        if mask is not None and not mask.any(dim=-1).all():
            raise ValueError("a query without keys")
        Q, K, V = self.W_q(query), self.W_k(key), self.W_v(value)
        mixed, weights = [], []
        for head in range(self.num_heads):
            columns = slice(head * self.head_dim, (head + 1) * self.head_dim)
            scores = Q[..., columns] @ K[..., columns].mT / math.sqrt(self.head_dim)
            allowed = self.mask_of(mask, head)
            if allowed is not None:
                scores = scores.masked_fill(~allowed, -math.inf)
            weights.append(scores.softmax(dim=-1))
            mixed.append(self.dropout(weights[-1]) @ V[..., columns])
        return self.W_o(torch.cat(mixed, dim=-1)), torch.stack(weights, dim=1)
