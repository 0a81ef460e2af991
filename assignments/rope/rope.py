"""Rotary position embedding. Fill in the class; README.md says what it has to do."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    """Turns each pair of adjacent columns by an angle that grows with the position.

    There is nothing to learn here: the module has no parameters.
    """

    def __init__(self, base: float = 10000.0) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, offset: int = 0, positions: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Turn every vector of ``x`` as its position asks for.

        Shapes:
            x: (B, H, T, D), queries or keys after the split into heads; D is even
            positions: integers (T,), the same for the whole batch, or (B, T); if they are None,
                the positions are offset, offset + 1, ..., offset + T - 1

        Returns:
            (B, H, T, D), in the dtype of x.

        Raises:
            ValueError: if D is odd.
        """
        raise NotImplementedError
