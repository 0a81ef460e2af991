"""Reference for rotary position embedding (Su et al. 2021, equation 34)."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    """Turns adjacent columns 2i and 2i + 1 by position x base^(-2i/D)."""

    def __init__(self, base: float = 10000.0) -> None:
        super().__init__()
        self.base = base

    def forward(
        self, x: torch.Tensor, offset: int = 0, positions: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return x (B, H, T, D), turned; see the assignment's README."""
        _, _, length, width = x.shape
        if width % 2:
            raise ValueError("columns turn in pairs: the width has to be even")
        if positions is None:
            positions = torch.arange(offset, offset + length, device=x.device)
        # float64, so that an angle keeps its fraction however large the position is.
        exponents = torch.arange(0, width, 2, dtype=torch.float64, device=x.device) / width
        frequencies = self.base**-exponents
        # (1, T, 1), or (B, 1, T, 1) where items have positions of their own, equal for all heads.
        angles = positions[..., None, :, None] * frequencies
        cos, sin = angles.cos(), angles.sin()
        first, second = x[..., 0::2], x[..., 1::2]
        turned = (first * cos - second * sin, first * sin + second * cos)
        return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
