"""x is overwritten by what attention gives, which is then added to itself: the residual is lost."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.GELU(), nn.Linear(ffn_dim, embed_dim))

    def forward(self, x, mask=None):
        length = x.shape[1]
        steps = torch.arange(length, device=x.device)
        blocked = steps[None] > steps[:, None] if mask is None else ~mask
        x = self.norm1(x)
        x, _ = self.attention(x, x, x, attn_mask=blocked, need_weights=False)
        x = x + x
        x = x + self.ffn(self.norm2(x))
        return x


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.limit = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            [TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        length = tokens.shape[1]
        if length > self.limit:
            raise ValueError("longer than max_length")
        x = self.token_embedding(tokens) + self.position_embedding.weight[:length]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
