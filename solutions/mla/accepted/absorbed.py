"""W_UK is absorbed into the queries and W_UV into the output: attention happens on the latents."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads has to divide embed_dim")
        self.h, self.d = num_heads, embed_dim // num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.W_UQ(self.W_DQ(x)).unflatten(-1, (self.h, self.d))
        c = self.W_DKV(x)
        up_k = self.W_UK.weight.view(self.h, self.d, -1)
        up_v = self.W_UV.weight.view(self.h, self.d, -1)
        q_latent = torch.einsum("bthd,hdl->bhtl", q, up_k)
        scores = torch.einsum("bhtl,bsl->bhts", q_latent, c) * self.d**-0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.dropout(scores.softmax(-1))
        mixed = torch.einsum("bhts,bsl->bhtl", weights, c)
        y = torch.einsum("bhtl,hdl->bthd", mixed, up_v)
        return self.W_o(y.flatten(2)), c
