"""One layer makes query, key and value of self-attention; slices of it serve cross-attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "heads must share the width evenly"
        self.h, self.d = num_heads, embed_dim // num_heads
        self.in_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.attn_drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        parts = ("W_q", "W_k", "W_v")
        self.in_proj.weight.copy_(torch.cat([weights[f"{p}.weight"] for p in parts]))
        self.in_proj.bias.copy_(torch.cat([weights[f"{p}.bias"] for p in parts]))
        self.out_proj.weight.copy_(weights["W_o.weight"])
        self.out_proj.bias.copy_(weights["W_o.bias"])

    def forward(self, query, key, value, mask=None):
        if query is key and key is value:
            q, k, v = self.in_proj(query).chunk(3, dim=-1)
        else:
            w, b = self.in_proj.weight.chunk(3), self.in_proj.bias.chunk(3)
            q, k, v = (F.linear(x, w[i], b[i]) for i, x in enumerate((query, key, value)))
        B, T, C = q.shape
        q, k, v = (x.view(B, -1, self.h, self.d).transpose(1, 2) for x in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d)
        if mask is not None:
            if mask.ndim == 2:
                mask = mask[None, None]
            elif mask.ndim == 3:
                mask = mask[:, None]
            if not mask.any(-1).all():
                raise ValueError("some query is not allowed to see anything")
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        out = self.attn_drop(weights) @ v
        return self.out_proj(out.transpose(1, 2).contiguous().view(B, T, C)), weights
