"""Norms of the root mean square, a gated feed-forward network, no biases: as in newer models."""

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float):
        super().__init__()
        if dim % heads:
            raise ValueError("dim % heads != 0")
        self.heads, self.dropout = heads, dropout
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, mask):
        q, k, v = (
            w(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_v)
        )
        # F.scaled_dot_product_attention takes True for allowed, as the course does.
        out = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=mask is None,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.W_o(out.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0):
        super().__init__()
        self.norm1 = RMSNorm(embed_dim)
        self.attention = Attention(embed_dim, num_heads, dropout)
        self.norm2 = RMSNorm(embed_dim)
        self.ffn = SwiGLU(embed_dim, ffn_dim)

    def forward(self, x, mask=None):
        h = x + self.attention(self.norm1(x), mask)
        return h + self.ffn(self.norm2(h))


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Parameter(torch.randn(max_length, embed_dim) * 0.02)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = RMSNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        if tokens.shape[-1] > self.max_length:
            raise ValueError("too long")
        h = self.token_embedding(tokens) + self.position_embedding[: tokens.shape[-1]]
        for layer in self.blocks:
            h = layer(h)
        return self.head(self.norm(h))
