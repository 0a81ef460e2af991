"""The position embedding is made and then never used."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.ReLU(), nn.Linear(ffn_dim, embed_dim))

    def forward(self, x, mask=None):
        T = x.size(1)
        allowed = torch.tril(torch.ones(T, T, device=x.device)) == 1 if mask is None else mask
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, normed, attn_mask=allowed == 0)[0]
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        if tokens.size(1) > self.position_embedding.num_embeddings:
            raise ValueError("too long")
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
