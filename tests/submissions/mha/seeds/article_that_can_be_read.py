"""The article's class with its line break mended: one input, one output, and the other mistakes."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, (
            f"a width of {embed_dim} cannot be shared by f{num_head} heads"
        )
        self.num_heads = num_heads
        self.head_dim = embed_dim / num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_output = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, T, C = x.size()
        q, k, v = (
            layer(x).view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.W_q, self.W_k, self.W_v)
        )
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        scores = self.drop(F.softmax(scores, dim=-1))
        mixed = torch.matmul(scores, v).transpose(1, 2).reshape(B, T, C)
        return self.W_output(mixed)
