"""Reference for grouped-query attention (Ainslie et al. 2023, section 2.2)."""

import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Self-attention with a key and a value head a group; see the assignment's README."""

    def __init__(
        self, embed_dim: int, num_heads: int, num_kv_groups: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be divisible by num_heads")
        if num_heads % num_kv_groups != 0:
            raise ValueError("num_heads has to be divisible by num_kv_groups")
        self.num_heads = num_heads
        self.num_kv_groups = num_kv_groups
        self.head_dim = embed_dim // num_heads
        self.heads_per_group = num_heads // num_kv_groups
        kv_width = num_kv_groups * self.head_dim
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, kv_width)
        self.W_v = nn.Linear(embed_dim, kv_width)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return output (B, T, C) for x (B, T, C)."""
        batch, length, width = x.shape
        query = self.W_q(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        key = self.W_k(x).view(batch, length, self.num_kv_groups, self.head_dim)
        value = self.W_v(x).view(batch, length, self.num_kv_groups, self.head_dim)
        key = key.transpose(1, 2).repeat_interleave(self.heads_per_group, dim=1)
        value = value.transpose(1, 2).repeat_interleave(self.heads_per_group, dim=1)
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(query.shape[-1])
        if mask is not None:
            allowed = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        heads = weights @ value
        merged = heads.transpose(1, 2).reshape(batch, length, width)
        return self.W_o(merged)
