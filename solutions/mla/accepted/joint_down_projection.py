"""Both latents from one projection, keys and values from another, head by head as [key | value]."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide the width")
        self.n, self.d = num_heads, embed_dim // num_heads
        self.latents = [q_latent_dim, kv_latent_dim]
        self.down = nn.Linear(embed_dim, sum(self.latents))
        self.up_q = nn.Linear(q_latent_dim, embed_dim)
        self.up_kv = nn.Linear(kv_latent_dim, 2 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        for end in ("weight", "bias"):
            w = {name: weights[f"{name}.{end}"] for name in ("W_DQ", "W_UQ", "W_DKV", "W_o")}
            k, v = (weights[f"{n}.{end}"].unflatten(0, (self.n, -1)) for n in ("W_UK", "W_UV"))
            getattr(self.down, end).copy_(torch.cat([w["W_DQ"], w["W_DKV"]]))
            getattr(self.up_q, end).copy_(w["W_UQ"])
            getattr(self.up_kv, end).copy_(torch.cat([k, v], dim=1).flatten(0, 1))
            getattr(self.out, end).copy_(w["W_o"])

    def forward(self, x, mask=None):
        b, t, c = x.shape
        c_q, c_kv = self.down(x).split(self.latents, dim=-1)
        q = self.up_q(c_q).view(b, t, self.n, self.d).permute(0, 2, 1, 3)
        k, v = self.up_kv(c_kv).view(b, t, self.n, 2 * self.d).permute(0, 2, 1, 3).chunk(2, -1)
        s = q @ k.mT / self.d**0.5
        if mask is not None:
            s = s.masked_fill(~(mask[:, None] if mask.dim() == 3 else mask), -1e9)
        y = self.dropout(s.softmax(-1)) @ v
        return self.out(y.permute(0, 2, 1, 3).reshape(b, t, c)), c_kv
