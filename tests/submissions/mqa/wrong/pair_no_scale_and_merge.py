"""No scale, and heads merged without a transpose."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.h = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        s = q @ self.W_k(x).unsqueeze(1).mT
        if mask is not None:
            s = s.masked_fill(~(mask.unsqueeze(1) if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ self.W_v(x).unsqueeze(1)).reshape(x.shape))
