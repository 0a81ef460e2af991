"""The number of heads is stored and never used: one head as wide as the model."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        c = self.W_DKV(x)
        s = torch.bmm(self.W_UQ(self.W_DQ(x)), self.W_UK(c).mT) / x.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, 0] if mask.dim() == 4 else mask), -torch.inf)
        return self.W_o(torch.bmm(self.dropout(s.softmax(-1)), self.W_UV(c))), c
