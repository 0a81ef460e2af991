"""The heads' results are averaged and repeated to the full width."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("no")
        self.h = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        k, v = self.W_k(x), self.W_v(x)
        total = 0
        for h, q in enumerate(self.W_q(x).chunk(self.h, -1)):
            s = torch.bmm(q, k.mT) / q.shape[-1] ** 0.5
            if mask is not None:
                m = mask if mask.dim() < 4 else mask[:, min(h, mask.shape[1] - 1)]
                s = s.masked_fill(~m, -torch.inf)
            total = total + torch.bmm(self.dropout(s.softmax(-1)), v)
        return self.W_o(torch.cat([total / self.h] * self.h, dim=-1))
