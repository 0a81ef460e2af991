"""The heads are merged by a view alone, without bringing them back behind the tokens."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.heads, self.width = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def apart(self, x):
        return x.view(x.size(0), -1, self.heads, self.width).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.apart(self.W_q(query)), self.apart(self.W_k(key)), self.apart(self.W_v(value))
        logits = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.width)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:, None]
            if not mask.any(-1).all():
                raise ValueError("empty")
            logits = logits.masked_fill(mask == 0, float("-inf"))
        attn = torch.softmax(logits, -1)
        y = torch.matmul(self.drop(attn), v)
        return self.W_o(y.reshape(query.size(0), query.size(1), -1)), attn
