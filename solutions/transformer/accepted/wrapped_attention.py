"""nn.MultiheadAttention within a module of one's own; a mask for each head; is_causal as a hint."""

import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.inner = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            blocked = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.inner(
                x, x, x, attn_mask=blocked.to(x.dtype), is_causal=True, need_weights=False
            )[0]
        for_each_head = (~mask).expand(x.shape[0] * self.heads, *mask.shape)
        return self.inner(x, x, x, attn_mask=for_each_head)[0]


def feed_forward(width: int, hidden: int, dropout: float) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width)
    )


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = CausalSelfAttention(embed_dim, num_heads, dropout)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ffn = feed_forward(embed_dim, ffn_dim, dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attended = torch.add(x, self.attention(self.norm1(x), mask))
        return torch.add(attended, self.ffn(self.norm2(attended)))


class TransformerLM(nn.Module):
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
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim)
        self.embedding_dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens: Tensor) -> Tensor:
        if tokens.shape[1] > len(self.position_embedding.weight):
            raise ValueError("more tokens than positions")
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.embedding_dropout(
            self.token_embedding(tokens) + self.position_embedding(positions)
        )
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
