"""Grouped-query attention. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Self-attention whose query heads share key and value heads, a group at a time.

    Projections, each an ``nn.Linear`` with or without bias (C is embed_dim, D is C / num_heads,
    G is num_kv_groups):
        W_q: C to C, W_k: C to G * D, W_v: C to G * D, W_o: C to C
    If yours are named or arranged in another way, add ``load_weights(self, weights)``; see
    README.md.

    Args:
        embed_dim: the width C of a token.
        num_heads: the number H of query heads.
        num_kv_groups: the number G of key heads, and of value heads.
        dropout: the share of the attention weights that is dropped in training.

    Raises:
        ValueError: if embed_dim is not divisible by num_heads, or num_heads not by num_kv_groups
            (AssertionError is fine too).
    """

    def __init__(
        self, embed_dim: int, num_heads: int, num_kv_groups: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let the tokens attend to each other; query head h uses group h // (H / G).

        Shapes:
            x: (B, T, C)
            mask: bool, (T, T), (B, T, T), (B, 1, T, T) or (B, H, T, T); True means allowed

        Returns:
            output: (B, T, C)
        """
        raise NotImplementedError
