"""Attention is the course's own multi-head attention, with W_q, W_k, W_v and W_o, in einsum."""

import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, allowed):
        batch, length, width = x.shape
        q, k, v = (
            w(x).reshape(batch, length, self.num_heads, width // self.num_heads)
            for w in (self.W_q, self.W_k, self.W_v)
        )
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~allowed, float("-inf"))
        weights = self.drop(scores.softmax(-1))
        mixed = torch.einsum("bhts,bshd->bthd", weights, v)
        return self.W_o(mixed.reshape(batch, length, width))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = SelfAttention(embed_dim, num_heads, dropout)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(ffn_dim, embed_dim),
        )

    def forward(self, x, mask=None):
        if mask is None:
            t = torch.arange(x.size(1), device=x.device)
            mask = t[None, :] <= t[:, None]
        x = x + self.attention(self.norm1(x), mask)
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(TransformerBlock(embed_dim, num_heads, ffn_dim, dropout))
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        length = tokens.size(1)
        if length > self.position_embedding.num_embeddings:
            raise ValueError(f"{length} tokens are too many")
        x = self.token_embedding(tokens)
        x = x + self.position_embedding.weight[:length]
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return self.head(self.norm(x))
