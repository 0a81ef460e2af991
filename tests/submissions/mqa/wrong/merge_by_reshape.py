"""Heads are split properly, but merged by reshape without a transpose."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("these sizes do not go together")
        self.h = num_heads
        d = embed_dim // num_heads
        self.W_q, self.W_o = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.W_k, self.W_v = nn.Linear(embed_dim, d), nn.Linear(embed_dim, d)
        self.do = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = torch.stack(self.W_q(x).chunk(self.h, dim=-1), dim=1)
        k = self.W_k(x).unsqueeze(1)
        s = q.matmul(k.mT).mul(k.shape[-1] ** -0.5)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            s = torch.where(mask, s, float("-inf"))
        o = self.do(torch.softmax(s, dim=-1)).matmul(self.W_v(x).unsqueeze(1))
        return self.W_o(o.contiguous().view(x.shape))
