"""The article's name for the output projection alone: not the handout's, and no load_weights."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, f"{num_heads} heads cannot share {embed_dim}"
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_output = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def heads(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads(self.W_q(query)), self.heads(self.W_k(key)), self.heads(self.W_v(value))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            if not mask.any(dim=-1).all():
                raise ValueError("a query has nothing to look at")
            scores = scores.masked_fill(mask == 0, float("-inf"))
        shares = F.softmax(scores, dim=-1)
        mixed = torch.matmul(self.drop(shares), v)
        return self.W_output(mixed.transpose(1, 2).reshape(query.shape)), shares
