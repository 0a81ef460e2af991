"""Reference for multi-head latent attention without RoPE (DeepSeek-AI 2024, section 2.1.2)."""

import math

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    """Self-attention over latents; see the assignment's README."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        q_latent_dim: int,
        kv_latent_dim: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output (B, T, C) and c_kv (B, T, kv_latent_dim) for x (B, T, C)."""
        batch, length, width = x.shape
        c_q = self.W_DQ(x)
        c_kv = self.W_DKV(x)
        query = self.W_UQ(c_q).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        key = self.W_UK(c_kv).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        value = self.W_UV(c_kv).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(query.shape[-1])
        if mask is not None:
            allowed = mask.unsqueeze(1) if mask.dim() == 3 else mask
            scores = scores.masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        heads = weights @ value
        merged = heads.transpose(1, 2).reshape(batch, length, width)
        return self.W_o(merged), c_kv
