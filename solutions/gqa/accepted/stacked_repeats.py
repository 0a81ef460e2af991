"""Keys and values repeated by stacking copies beside each other before the reshape."""

import math

import torch
import torch.nn as nn


class GroupedQueryAttention(nn.Module):
    """Softmax in float32, mask as a bias."""

    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise AssertionError("heads")
        if num_heads % num_kv_groups != 0:
            raise AssertionError("groups")
        self.num_heads = num_heads
        self.num_kv_groups = num_kv_groups
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, num_heads * self.head_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * self.head_dim)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * self.head_dim)
        self.W_o = nn.Linear(num_heads * self.head_dim, embed_dim)
        self.attn_drop = nn.Dropout(dropout)

    def _split(self, t, heads):
        return t.reshape(*t.shape[:2], heads, self.head_dim).permute(0, 2, 1, 3)

    def forward(self, x, mask=None):
        times = self.num_heads // self.num_kv_groups
        q = self._split(self.W_q(x), self.num_heads)
        k, v = (
            torch.stack([self._split(w(x), self.num_kv_groups)] * times, dim=2).flatten(1, 2)
            for w in (self.W_k, self.W_v)
        )
        scores = q.matmul(k.transpose(-1, -2)).float() / math.sqrt(self.head_dim)
        if mask is not None:
            bias = torch.zeros(mask.shape, device=x.device).masked_fill(~mask, float("-inf"))
            scores = scores + (bias.unsqueeze(1) if mask.dim() == 3 else bias)
        weights = self.attn_drop(scores.softmax(-1).to(v.dtype))
        out = weights.matmul(v).transpose(1, 2).contiguous()
        return self.W_o(out.view(*x.shape[:2], -1))
