"""The mask is read the way nn.MultiheadAttention reads it: True means blocked."""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.head_dim)
        self.W_v = nn.Linear(embed_dim, self.head_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q = self.W_q(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_k(x).view(b, 1, t, self.head_dim)
        v = self.W_v(x).view(b, 1, t, self.head_dim)
        attn = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        if mask is not None:
            attn_mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            attn = attn.masked_fill(attn_mask, float("-inf"))
        attn = self.dropout(torch.softmax(attn, dim=-1))
        return self.W_o(torch.matmul(attn, v).transpose(1, 2).reshape(b, t, c))
