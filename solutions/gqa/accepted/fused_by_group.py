"""One projection whose columns come group by group: the group's queries, its key, its value."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0 or num_heads % num_kv_groups != 0:
            raise ValueError("sizes do not divide")
        self.g = num_kv_groups
        self.r = num_heads // num_kv_groups
        self.d = embed_dim // num_heads
        self.qkv = nn.Linear(embed_dim, self.g * (self.r + 2) * self.d)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        for end in ("weight", "bias"):
            q, k, v = (weights[f"W_{n}.{end}"].unflatten(0, (self.g, -1)) for n in "qkv")
            getattr(self.qkv, end).copy_(torch.cat([q, k, v], dim=1).flatten(0, 1))
            getattr(self.proj, end).copy_(weights[f"W_o.{end}"])

    def forward(self, x, mask=None):
        b, t, c = x.shape
        qkv = self.qkv(x).view(b, t, self.g, self.r + 2, self.d)
        q = qkv[..., :-2, :].permute(0, 2, 3, 1, 4)
        k = qkv[..., -2, :].permute(0, 2, 1, 3).unsqueeze(2)
        v = qkv[..., -1, :].permute(0, 2, 1, 3).unsqueeze(2)
        s = (q @ k.mT / self.d**0.5).flatten(1, 2)
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
        w = self.drop(s.softmax(-1)).unflatten(1, (self.g, self.r))
        return self.proj((w @ v).permute(0, 3, 1, 2, 4).reshape(b, t, c))
