"""The blocks stand in a plain Python list, where PyTorch does not look for parameters."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.GELU(), nn.Linear(ffn_dim, embed_dim))

    def forward(self, x, mask=None):
        n = x.shape[1]
        allowed = mask
        if allowed is None:
            allowed = torch.ones(n, n, device=x.device, dtype=torch.bool).tril()
        h = self.norm1(x)
        x = x + self.attention(query=h, key=h, value=h, attn_mask=~allowed)[0]
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = []
        for _ in range(num_layers):
            self.blocks += [TransformerBlock(embed_dim, num_heads, ffn_dim, dropout)]
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)
        self.max_length = max_length

    def forward(self, tokens):
        n = tokens.shape[1]
        if n > self.max_length:
            raise ValueError("text is too long")
        x = self.token_embedding(tokens) + self.position_embedding(torch.arange(n, device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
