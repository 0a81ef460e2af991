"""Multi-head latent attention with RoPE. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    """Causal attention whose keys and values are rebuilt from one small latent for each token.

    Parameters, each an ``nn.Linear`` without bias (weights are (outputs, inputs)):
        W_DQ: (q_latent_dim, C)         W_DKV: (kv_latent_dim, C)
        W_UQ: (H x D, q_latent_dim)     W_UK: (H x D, kv_latent_dim)
        W_QR: (H x R, q_latent_dim)     W_UV: (H x D, kv_latent_dim)
        W_KR: (R, C)                    W_o: (C, H x D)

    If yours are named or packed in another way, also write ``load_weights(self, weights)``: it gets
    ``{"W_DQ.weight": (q_latent_dim, C), "W_DQ.bias": (q_latent_dim,) zeros, ...}`` for all eight
    names, and sets your parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        head_dim: int,
        rope_dim: int,
        q_latent_dim: int,
        kv_latent_dim: int,
    ) -> None:
        """The sizes are C, H, D, R and those of the latents. Raises ValueError if R is odd."""
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: tuple[torch.Tensor, torch.Tensor] | None = None,
        use_cache: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Attend to the tokens of the cache and to these, never to a later one.

        Shapes (T tokens come in, S counts them and those of the cache):
            x: (B, T, C)
            mask: bool (T, S) or (B, T, S); True means allowed, as far as causality allows too
            cache: what an earlier call returned: (c_kv (B, S - T, kv_latent_dim),
                k_rope (B, S - T, R))

        Returns:
            output (B, T, C), or with ``use_cache`` the pair of it and the new cache: (c_kv
            (B, S, kv_latent_dim), k_rope (B, S, R)), k_rope already turned.
        """
        raise NotImplementedError
