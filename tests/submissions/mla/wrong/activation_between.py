"""A GELU stands between each down- and up-projection; c_kv is returned before it."""

import torch
import torch.nn.functional as F
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
        c_q, c_kv = self.W_DQ(x), self.W_DKV(x)
        q = self.W_UQ(F.gelu(c_q)).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k = self.W_UK(F.gelu(c_kv)).unflatten(-1, (self.h, -1)).transpose(1, 2)
        v = self.W_UV(F.gelu(c_kv)).unflatten(-1, (self.h, -1)).transpose(1, 2)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        p = self.dropout.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.W_o(y.transpose(1, 2).flatten(2)), c_kv
