"""In the style of small GPTs: a config, one initialisation for all, a tied head, many dropouts."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab_size: int
    embed_dim: int
    num_heads: int
    num_layers: int
    ffn_dim: int
    max_length: int
    dropout: float = 0.0


class MLP(nn.Module):
    def __init__(self, embed_dim: int, ffn_dim: int, dropout: float):
        super().__init__()
        self.c_fc = nn.Linear(embed_dim, ffn_dim)
        self.c_proj = nn.Linear(ffn_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x))))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "heads do not divide the width"
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attention = nn.MultiheadAttention(
            embed_dim=embed_dim, num_heads=num_heads, dropout=dropout, batch_first=True
        )
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.ffn = MLP(embed_dim, ffn_dim, dropout)
        self.resid_dropout = nn.Dropout(dropout)

    def attend(self, x, mask):
        length = x.shape[1]
        if mask is None:
            blocked = torch.full((length, length), True, device=x.device).triu(1)
        else:
            blocked = ~mask
        out, _ = self.attention(x, x, x, need_weights=False, attn_mask=blocked)
        return self.resid_dropout(out)

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.ffn(self.norm2(x))


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.config = Config(
            vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout
        )
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.weight = self.token_embedding.weight
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * num_layers))

    @staticmethod
    def _init_weights(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, tokens):
        t = tokens.size(1)
        if t > self.config.max_length:
            raise ValueError(f"Cannot forward {t} tokens, the most is {self.config.max_length}")
        pos = torch.arange(0, t, dtype=torch.long, device=tokens.device)
        x = self.drop(self.token_embedding(tokens) + self.position_embedding(pos))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
