"""There is no mask anywhere: every token sees the whole text."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        nn.Module.__init__(self)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(
            embed_dim=embed_dim, num_heads=num_heads, dropout=dropout, batch_first=True
        )
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim),
            nn.ReLU(),
            nn.Linear(ffn_dim, embed_dim),
        )

    def forward(self, x, mask=None):
        normed = self.norm1(x)
        attn_out, _weights = self.attention(normed, normed, normed)
        h = x + attn_out
        return h + self.ffn(self.norm2(h))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        nn.Module.__init__(self)
        self.max_len = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(TransformerBlock(embed_dim, num_heads, ffn_dim, dropout))
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        seq_len = tokens.shape[1]
        if seq_len > self.max_len:
            raise ValueError("sequence too long")
        pos = torch.arange(seq_len, device=tokens.device)
        h = self.token_embedding(tokens) + self.position_embedding(pos)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))
