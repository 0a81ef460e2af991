"""The whole block is nn.TransformerEncoderLayer, which is not allowed, and lacks the declared parts."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            embed_dim, num_heads, ffn_dim, dropout, batch_first=True, norm_first=True
        )

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        return self.layer(x, src_mask=~mask)


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
