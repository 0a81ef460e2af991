"""Reference for attention with dropout on its weights (Vaswani et al. 2017, equation 1)."""

import math

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    """See the assignment's README."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return output (..., T, Dv)."""
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(query.shape[-1])
        if mask is not None:
            allowed = mask != 0
            scores = scores.masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        return weights @ value
