"""Multi-query attention. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Self-attention whose heads have queries of their own and share one key and one value head.

    Projections, each an ``nn.Linear`` with or without bias (C is embed_dim, D is C / num_heads):
        W_q: C to C, W_k: C to D, W_v: C to D, W_o: C to C
    If yours are named or arranged in another way, add ``load_weights(self, weights)``; see
    README.md.

    Args:
        embed_dim: the width C of a token.
        num_heads: the number H of query heads.
        dropout: the share of the attention weights that is dropped in training.

    Raises:
        ValueError: if embed_dim is not divisible by num_heads (AssertionError is fine too).
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let the tokens attend to each other.

        Shapes:
            x: (B, T, C)
            mask: bool, (T, T), (B, T, T), (B, 1, T, T) or (B, H, T, T); True means allowed

        Returns:
            output: (B, T, C)
        """
        raise NotImplementedError
