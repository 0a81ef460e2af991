"""The returned latent has been given an axis for the heads."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.h = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        c = self.W_DKV(x)
        q, k, v = (
            z.unflatten(-1, (self.h, -1)).transpose(1, 2)
            for z in (self.W_UQ(self.W_DQ(x)), self.W_UK(c), self.W_UV(c))
        )
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        y = self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))
        return y, c.unsqueeze(1).expand(-1, self.h, -1, -1)
