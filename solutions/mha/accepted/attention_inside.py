"""A config, an attention function and a helper for masks; the class only puts them together."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Config:
    width: int
    heads: int
    dropout: float

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError(f"width {self.width} / heads {self.heads} leaves a rest")

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def lift(mask: Tensor) -> Tensor:
    """To four axes: (B or 1, H or 1, T, S)."""
    if mask.dim() == 2:
        return mask.unsqueeze(0).unsqueeze(0)
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, drop: nn.Module):
    logits = torch.matmul(query, key.transpose(-2, -1)).div(query.size(-1) ** 0.5)
    if mask is not None:
        if (mask.long().sum(dim=-1) < 1).any().item():
            raise ValueError("every query needs an allowed key")
        logits = logits.masked_fill(torch.logical_not(mask), float("-inf"))
    weights = logits.softmax(dim=-1)
    return torch.matmul(drop(weights), value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        self.config = Config(embed_dim, num_heads, dropout)
        self.layers = nn.ModuleList([nn.Linear(embed_dim, embed_dim) for _ in range(4)])
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        for name, layer in zip(("W_q", "W_k", "W_v", "W_o"), self.layers, strict=True):
            layer.load_state_dict({k: weights[f"{name}.{k}"] for k in ("weight", "bias")})

    def heads(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x).reshape(*x.shape[:2], -1, self.config.head_width).movedim(2, 1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None):
        to_query, to_key, to_value, to_output = self.layers
        mixed, weights = attention(
            self.heads(to_query, query),
            self.heads(to_key, key),
            self.heads(to_value, value),
            None if mask is None else lift(mask),
            self.drop,
        )
        return to_output(mixed.movedim(1, 2).reshape(query.shape)), weights
