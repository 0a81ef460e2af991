"""A mask of three axes is left to broadcasting, which lines its items up with the heads."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "width"
        self.num_heads = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)
            for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value))
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None:
            if not mask.any(-1).all():
                raise ValueError("a row is empty")
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        mixed = nn.functional.dropout(weights, self.p, self.training) @ v
        return self.W_o(mixed.movedim(1, -2).flatten(-2)), weights
