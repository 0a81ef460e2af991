"""Plain parameters, with the heads' axis already in the up-projections."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("not divisible")
        width = embed_dim // num_heads

        def matrix(*shape):
            return nn.Parameter(torch.randn(*shape) / shape[0] ** 0.5)

        self.down_q = matrix(embed_dim, q_latent_dim)
        self.up_q = matrix(q_latent_dim, num_heads, width)
        self.down_kv = matrix(embed_dim, kv_latent_dim)
        self.up_k = matrix(kv_latent_dim, num_heads, width)
        self.up_v = matrix(kv_latent_dim, num_heads, width)
        self.out = matrix(num_heads, width, embed_dim)
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        names = {
            "W_DQ": self.down_q,
            "W_UQ": self.up_q,
            "W_DKV": self.down_kv,
            "W_UK": self.up_k,
            "W_UV": self.up_v,
            "W_o": self.out,
        }
        for name, mine in names.items():
            mine.copy_(weights[f"{name}.weight"].t().reshape(mine.shape))

    def forward(self, x, mask=None):
        c_kv = x @ self.down_kv
        q = torch.einsum("btl,lhd->bhtd", x @ self.down_q, self.up_q)
        k = torch.einsum("bsl,lhd->bhsd", c_kv, self.up_k)
        v = torch.einsum("bsl,lhd->bhsd", c_kv, self.up_v)
        s = torch.matmul(q, k.transpose(2, 3)).div(q.shape[-1] ** 0.5)
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=s.dtype).masked_fill(~mask, float("-inf"))
            s = s + (bias[:, None] if mask.dim() == 3 else bias)
        w = self.drop(torch.exp(s - s.logsumexp(-1, keepdim=True)))
        return torch.einsum("bhts,bhsd,hdc->btc", w, v, self.out), c_kv
