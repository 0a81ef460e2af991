"""The post's class with everything mended: a right answer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "the heads have to share the width evenly"
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.d_k = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, Q, K, V, mask=None):
        count = Q.shape[0]
        Q = self.W_q(Q).reshape(count, -1, self.num_heads, self.d_k).transpose(1, 2)
        K = self.W_k(K).reshape(count, -1, self.num_heads, self.d_k).transpose(1, 2)
        V = self.W_v(V).reshape(count, -1, self.num_heads, self.d_k).transpose(1, 2)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / (self.d_k**0.5)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            if not mask.any(dim=-1).all():
                raise ValueError("a query has nothing to look at")
            scores = scores.masked_fill(mask == 0, float("-inf"))
        shares = F.softmax(scores, dim=-1)
        context = torch.matmul(self.drop(shares), V)
        context = context.transpose(1, 2).reshape(count, -1, self.embed_dim)
        return self.W_o(context), shares
