"""Its own attention merges the heads without bringing the tokens back to the front: tokens mix."""

import math

import torch
from torch import nn


class MHA(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        assert c % h == 0
        self.h, self.d = h, c // h
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(c, c) for _ in "qkvo")

    def forward(self, x, allowed):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.h, self.d).transpose(1, 2) for f in (self.W_q, self.W_k, self.W_v))
        s = (q @ k.transpose(-2, -1)) / math.sqrt(self.d)
        w = s.masked_fill(~allowed, -math.inf).softmax(-1)
        return self.W_o((w @ v).reshape(b, t, c))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = MHA(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.GELU(), nn.Linear(ffn_dim, embed_dim))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        x = x + self.dropout(self.attention(self.norm1(x), mask))
        return x + self.dropout(self.ffn(self.norm2(x)))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        if tokens.shape[1] > self.max_length:
            raise ValueError("too long")
        x = self.token_embedding(tokens)
        x = x + self.position_embedding(torch.arange(tokens.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
