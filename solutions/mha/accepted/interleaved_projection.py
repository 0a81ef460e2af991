"""Key and value come from one layer, ordered by head: k of head 0, v of head 0, k of head 1, ..."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} is not a multiple of {num_heads}")
        self.num_heads = num_heads
        self.proj = nn.ModuleDict(
            {
                "q": nn.Linear(embed_dim, embed_dim),
                "kv": nn.Linear(embed_dim, 2 * embed_dim),
                "o": nn.Linear(embed_dim, embed_dim),
            }
        )
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        for kind in ("weight", "bias"):
            k = weights[f"W_k.{kind}"].unflatten(0, (self.num_heads, -1))
            v = weights[f"W_v.{kind}"].unflatten(0, (self.num_heads, -1))
            getattr(self.proj["kv"], kind).copy_(torch.stack([k, v], dim=1).flatten(0, 2))
            getattr(self.proj["q"], kind).copy_(weights[f"W_q.{kind}"])
            getattr(self.proj["o"], kind).copy_(weights[f"W_o.{kind}"])

    def forward(self, query, key, value, mask=None):
        B, T, C = query.shape
        H, D = self.num_heads, C // self.num_heads
        q = self.proj["q"](query).view(B, T, H, D).transpose(1, 2)
        k = self.proj["kv"](key).view(B, key.shape[1], H, 2, D)[..., 0, :].transpose(1, 2)
        v = self.proj["kv"](value).view(B, value.shape[1], H, 2, D)[..., 1, :].transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)).float() / math.sqrt(D)
        if mask is not None:
            mask = mask.view(*mask.shape[:-2], 1, *mask.shape[-2:]) if mask.dim() == 3 else mask
            if not mask.any(dim=-1).all():
                raise ValueError("nothing to attend to")
            scores = scores.masked_fill(~mask, -1e30)
        weights = scores.softmax(dim=-1).to(q.dtype)
        mixed = self.dropout(weights) @ v
        return self.proj["o"](mixed.permute(0, 2, 1, 3).flatten(2)), weights
