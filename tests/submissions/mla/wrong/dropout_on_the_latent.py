"""In training numbers of the latent are dropped, and no weights."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("heads")
        self.n, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        latent = self.dropout(self.W_DKV(x))
        q, k, v = (
            z.unflatten(-1, (self.n, -1)).transpose(1, 2)
            for z in (self.W_UQ(self.W_DQ(x)), self.W_UK(latent), self.W_UV(latent))
        )
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.W_o(y.transpose(1, 2).flatten(2)), latent
