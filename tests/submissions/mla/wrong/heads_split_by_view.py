"""Unpacked queries, keys and values are cut into heads by view alone."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("heads")
        self.n, self.d, self.p = num_heads, embed_dim // num_heads, dropout
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        latent = self.W_DKV(x)
        q = self.W_UQ(self.W_DQ(x)).view(b, self.n, t, self.d)
        k = self.W_UK(latent).view(b, self.n, t, self.d)
        v = self.W_UV(latent).view(b, self.n, t, self.d)
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        y = F.scaled_dot_product_attention(q, k, v, mask, self.p if self.training else 0.0)
        return self.W_o(y.view(b, t, c)), latent
