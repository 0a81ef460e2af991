"""W_DQ and W_UQ are multiplied into one matrix when loaded: the queries have no latent."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.h = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        self.W_q.weight.copy_(weights["W_UQ.weight"] @ weights["W_DQ.weight"])
        for name in ("W_DKV", "W_UK", "W_UV", "W_o"):
            getattr(self, name).weight.copy_(weights[name + ".weight"])

    def forward(self, x, mask=None):
        c = self.W_DKV(x)
        q, k, v = (
            z.unflatten(-1, (self.h, -1)).transpose(1, 2)
            for z in (self.W_q(x), self.W_UK(c), self.W_UV(c))
        )
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -torch.inf)
        return self.W_o((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).flatten(2)), c
