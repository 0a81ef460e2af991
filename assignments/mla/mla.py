"""Multi-head latent attention. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    """Self-attention whose keys and values are unpacked from one small latent of each token.

    Projections, each an ``nn.Linear`` with or without bias (C is embed_dim):
        W_DQ: C to q_latent_dim, W_UQ: q_latent_dim to C
        W_DKV: C to kv_latent_dim, W_UK: kv_latent_dim to C, W_UV: kv_latent_dim to C
        W_o: C to C
    If yours are named or arranged in another way, add ``load_weights(self, weights)``; see
    README.md.

    Args:
        embed_dim: the width C of a token.
        num_heads: the number H of heads; a head is D = C / H wide.
        q_latent_dim: the width of the latent that the queries come from.
        kv_latent_dim: the width of the latent that the keys and values come from.
        dropout: the share of the attention weights that is dropped in training.

    Raises:
        ValueError: if embed_dim is not divisible by num_heads (AssertionError is fine too).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        q_latent_dim: int,
        kv_latent_dim: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Let the tokens attend to each other.

        Shapes:
            x: (B, T, C)
            mask: bool, (T, T), (B, T, T), (B, 1, T, T) or (B, H, T, T); True means allowed

        Returns:
            output: (B, T, C)
            c_kv: (B, T, kv_latent_dim), what a cache would keep
        """
        raise NotImplementedError
