"""Reference for multi-query attention (Shazeer 2019, section 3)."""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Self-attention with one key and one value head; see the assignment's README."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.head_dim)
        self.W_v = nn.Linear(embed_dim, self.head_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return output (B, T, C) for x (B, T, C)."""
        batch, length, width = x.shape
        query = self.W_q(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        key = self.W_k(x).unsqueeze(1)
        value = self.W_v(x).unsqueeze(1)
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
