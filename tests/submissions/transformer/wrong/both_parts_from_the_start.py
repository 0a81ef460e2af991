"""Attention and feed-forward network both work on the x that came in, side by side."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.SiLU(), nn.Linear(ffn_dim, embed_dim))

    def forward(self, x, mask=None):
        t = x.shape[-2]
        allowed = torch.ones(t, t, dtype=torch.bool, device=x.device).tril() if mask is None else mask
        return x + self._attend(self.norm1(x), ~allowed) + self.ffn(self.norm2(x))

    def _attend(self, y, blocked):
        return self.attention(y, y, y, attn_mask=blocked)[0]


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.Sequential(
            *[TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        t = tokens.shape[-1]
        if t > self.position_embedding.num_embeddings:
            raise ValueError("too long")
        where = torch.arange(t, device=tokens.device)
        return self.head(self.norm(self.blocks(self.token_embedding(tokens) + self.position_embedding(where))))
