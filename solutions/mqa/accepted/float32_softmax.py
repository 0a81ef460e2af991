"""A helper module does attention, with softmax in float32 whatever the dtype."""

import math

import torch
import torch.nn as nn


class Attend(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, blocked):
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        if blocked is not None:
            scores = scores.masked_fill(blocked, float("-inf"))
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype)
        return torch.matmul(self.dropout(weights), v)


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, self.num_heads * self.head_dim)
        self.W_k = nn.Linear(embed_dim, self.head_dim)
        self.W_v = nn.Linear(embed_dim, self.head_dim)
        self.W_o = nn.Linear(self.num_heads * self.head_dim, embed_dim)
        self.attend = Attend(dropout)

    def forward(self, x, mask=None):
        batch, length = x.shape[:2]
        blocked = None
        if mask is not None:
            blocked = (
                ~mask.reshape(-1, *mask.shape[-3:-2], length, length) if mask.dim() > 3 else ~mask
            )
            if mask.dim() == 3:
                blocked = blocked[:, None, :, :]
        q = self.W_q(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_k(x).view(batch, length, 1, self.head_dim).transpose(1, 2)
        v = self.W_v(x).view(batch, length, 1, self.head_dim).transpose(1, 2)
        y = self.attend(q, k, v, blocked)
        return self.W_o(y.transpose(1, 2).contiguous().view(batch, length, -1))
