"""The queries of a group stacked into one sequence: a batch of B times G plain attentions."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim")
        if num_heads % num_kv_groups:
            raise ValueError("num_heads")
        self.H, self.G, self.D = num_heads, num_kv_groups, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.G * self.D)
        self.W_v = nn.Linear(embed_dim, self.G * self.D)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, T, C = x.shape
        H, G, D = self.H, self.G, self.D
        R = H // G
        q = self.W_q(x).view(B, T, H, D).transpose(1, 2).reshape(B * G, R * T, D)
        k = self.W_k(x).view(B, T, G, D).transpose(1, 2).reshape(B * G, T, D)
        v = self.W_v(x).view(B, T, G, D).transpose(1, 2).reshape(B * G, T, D)
        s = torch.bmm(q, k.transpose(1, 2)) / D**0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            mask = mask.expand(B, H, T, T).reshape(B * G, R * T, T)
            s = s + torch.zeros_like(s).masked_fill(~mask, -1e9)
        w = self.dropout(torch.softmax(s, -1))
        y = torch.bmm(w, v).view(B, H, T, D).transpose(1, 2)
        return self.W_o(y.reshape(B, T, C))
