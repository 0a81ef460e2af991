"""Blocks in nn.Sequential; the causal mask is a buffer, cut to size; positions a Parameter."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0, max_length=64):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim),
            nn.GELU(approximate="tanh"),
            nn.Linear(ffn_dim, embed_dim),
        )
        self.drop = nn.Dropout(dropout)
        blocked = torch.triu(torch.ones(max_length, max_length, dtype=torch.bool), diagonal=1)
        self.register_buffer("blocked", blocked, persistent=False)

    def forward(self, x, mask=None):
        length = x.shape[1]
        blocked = self.blocked[:length, :length] if mask is None else mask.logical_not()
        h = self.norm1(x)
        x = x + self.drop(self.attention(h, h, h, attn_mask=blocked)[0])
        return x + self.drop(self.ffn(self.norm2(x)))


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Parameter(torch.zeros(1, max_length, embed_dim))
        self.blocks = nn.Sequential(
            *[
                TransformerBlock(embed_dim, num_heads, ffn_dim, dropout, max_length)
                for _ in range(num_layers)
            ]
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        _, length = tokens.shape
        if length > self.position_embedding.shape[1]:
            raise ValueError("sequence too long")
        x = self.token_embedding(tokens) + self.position_embedding[:, :length]
        return self.head(self.norm(self.blocks(x)))
