"""Multi-head attention. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Attention by several heads side by side, each on its own part of the width.

    Args:
        embed_dim: the width C of the inputs and of the output.
        num_heads: the number of heads H; the width of one head is D = C / H.
        dropout: the share of the weights that is dropped in training.

    Parameters, each an nn.Linear from C to C (with or without bias): W_q, W_k, W_v, W_o. If you
    fuse or rename them, write load_weights(self, weights) too; the handout says how.

    Raises:
        ValueError or AssertionError: if embed_dim is not a multiple of num_heads.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Let every query attend to the keys, with each head.

        Shapes:
            query: (B, T, C)
            key: (B, S, C)
            value: (B, S, C)
            mask: bool, True means allowed; (T, S), or (B, T, S): one for each item of the batch,
                or (B, 1, T, S), or (B, H, T, S): one for each head of each item

        Returns:
            output: (B, T, C)
            weights: (B, H, T, S)

        Raises:
            ValueError: if a query has no allowed key.
        """
        raise NotImplementedError
