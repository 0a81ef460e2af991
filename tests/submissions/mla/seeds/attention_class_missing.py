"""The attention class of the section before is used and not there."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attention = MaskedScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        content_q = self.W_UQ(self.W_DQ(x))
        c_kv = self.W_DKV(x)
        content_k, content_v = self.W_UK(c_kv), self.W_UV(c_kv)
        queries = content_q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        keys = content_k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        values = content_v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        mixed = self.attention(queries, keys, values, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, self.embed_dim)
        return self.W_o(mixed), c_kv
