"""The value projection is made anew in each call."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.h, self.d = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        for name in ("W_q", "W_k", "W_o"):
            getattr(self, name).weight.copy_(weights[f"{name}.weight"])
            getattr(self, name).bias.copy_(weights[f"{name}.bias"])

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        s = q @ self.W_k(x).unsqueeze(1).mT / self.d**0.5
        if mask is not None:
            s = s.masked_fill(~(mask.unsqueeze(1) if mask.dim() == 3 else mask), -torch.inf)
        value = nn.Linear(x.shape[-1], self.d, dtype=x.dtype, device=x.device)(x)
        y = self.dropout(s.softmax(-1)) @ value.unsqueeze(1)
        return self.W_o(y.transpose(1, 2).flatten(2))
