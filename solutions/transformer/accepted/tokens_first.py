"""nn.MultiheadAttention without batch_first, turned there and back; an additive mask of -inf."""

import torch
import torch.nn as nn


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(embed_dim, num_heads)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim), nn.SiLU(), nn.Linear(ffn_dim, embed_dim)
        )
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, mask=None):
        length = x.shape[1]
        if mask is None:
            additive = torch.full((length, length), float("-inf"), dtype=x.dtype, device=x.device)
            additive = torch.triu(additive, diagonal=1)
        else:
            additive = torch.zeros(mask.shape, dtype=x.dtype, device=x.device)
            additive = additive.masked_fill(~mask, float("-inf"))
        normed = self.norm1(x).transpose(0, 1)
        attended = self.attention(normed, normed, normed, attn_mask=additive)[0].transpose(0, 1)
        x = x + self.drop1(attended)
        return x + self.drop2(self.ffn(self.norm2(x)))


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            [TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        if tokens.size(1) > self.max_length:
            raise ValueError("the text is longer than max_length")
        places = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        x = self.token_embedding(tokens) + self.position_embedding(places)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)
