"""W_UK is absorbed, and the scale follows the width that the scores are then summed over."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.h = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        c = self.W_DKV(x)
        q = self.W_UQ(self.W_DQ(x)).unflatten(-1, (self.h, -1))
        q = torch.einsum("bthd,hdl->bhtl", q, self.W_UK.weight.unflatten(0, (self.h, -1)))
        s = q @ c.unsqueeze(1).mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        y = self.dropout(s.softmax(-1)) @ c.unsqueeze(1)
        y = torch.einsum("bhtl,hdl->bthd", y, self.W_UV.weight.unflatten(0, (self.h, -1)))
        return self.W_o(y.flatten(2)), c
