"""Reference for the pre-norm transformer (Vaswani et al. 2017; Xiong et al. 2020, figure 1b)."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, each behind a norm and beside the residual stream."""

    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = nn.MultiheadAttention(
            embed_dim, num_heads, dropout=dropout, batch_first=True
        )
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = nn.Sequential(
            nn.Linear(embed_dim, ffn_dim),
            nn.GELU(),
            nn.Linear(ffn_dim, embed_dim),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return (B, T, C) for x (B, T, C); mask (T, T), True allowed, None is causal."""
        allowed = causal_mask(x.shape[1], x.device) if mask is None else mask
        normed = self.norm1(x)
        attended, _ = self.attention(normed, normed, normed, attn_mask=~allowed, need_weights=False)
        x = x + self.dropout(attended)
        transformed = self.ffn(self.norm2(x))
        return x + self.dropout(transformed)


class TransformerLM(nn.Module):
    """A decoder-only language model."""

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        num_layers: int,
        ffn_dim: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits (B, T, vocab_size) for tokens (B, T); ValueError for T over max_length."""
        length = tokens.shape[1]
        if length > self.max_length:
            raise ValueError("there are more tokens than positions")
        positions = torch.arange(length, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def causal_mask(length: int, device: torch.device) -> torch.Tensor:
    """Bool (T, T): query i may see key j where j <= i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
