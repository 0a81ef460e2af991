"""Masked attention with dropout. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    """Scaled dot-product attention that drops some of its weights while it is trained.

    Args:
        dropout: the share of the weights that is dropped in training, from 0 to 1.
    """

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Mix the values, each query by its own weights over the keys.

        Shapes (... stands for any number of leading axes, equal for query, key and value; or none):
            query: (..., T, D)
            key: (..., S, D)
            value: (..., S, Dv)
            mask: bool, broadcasts to (..., T, S); True means allowed

        Returns:
            output: (..., T, Dv)
        """
        raise NotImplementedError
