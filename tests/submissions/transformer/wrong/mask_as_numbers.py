"""The mask is turned into 0 and 1 and added to the scores, so that nothing is blocked."""

import torch
from torch import nn


def look_back(length, like):
    return torch.ones(length, length, device=like.device, dtype=like.dtype).tril()


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim), nn.ReLU(), nn.Linear(ffn_dim, embed_dim), nn.Dropout(dropout)
        )

    def forward(self, x, mask=None):
        scores_bias = look_back(x.shape[1], x) if mask is None else mask.to(x.dtype)
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, attn_mask=scores_bias, need_weights=False)
        x = x + y
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Parameter(torch.zeros(max_length, embed_dim))
        self.blocks = nn.Sequential(
            *(TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers))
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        n = tokens.shape[1]
        if n > len(self.position_embedding):
            raise ValueError(n)
        return self.head(self.norm(self.blocks(self.token_embedding(tokens) + self.position_embedding[:n])))
