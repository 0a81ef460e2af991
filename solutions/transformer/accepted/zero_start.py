"""Branches that start at zero, so that each block begins as the identity; dropout as a call."""

import torch
import torch.nn.functional as F
from torch import nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, bias=False, batch_first=True)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim), nn.LeakyReLU(), nn.Linear(ffn_dim, embed_dim)
        )
        nn.init.zeros_(self.attention.out_proj.weight)
        nn.init.zeros_(self.ffn[2].weight)
        nn.init.zeros_(self.ffn[2].bias)

    def forward(self, x, mask=None):
        if mask is None:
            mask = x.new_ones(x.shape[1], x.shape[1]).tril().bool()
        x = x + self._dropped(self._attended(self.norm1(x), mask))
        return x + self._dropped(self.ffn(self.norm2(x)))

    def _attended(self, x, mask):
        return self.attention(x, x, x, attn_mask=mask == False, need_weights=False)[0]  # noqa: E712

    def _dropped(self, x):
        return F.dropout(x, self.p, training=self.training)


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)
        nn.init.zeros_(self.head.weight)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device).unsqueeze(0)
        if tokens.shape[1] > self.position_embedding.num_embeddings:
            raise ValueError("There is no position for the last token.")
        x = self.token_embedding(tokens).add(self.position_embedding(positions))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
