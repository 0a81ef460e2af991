"""The quarter turn is a roll of each pair with a sign, and positions are always a batch."""

import torch
from torch import Tensor, nn


class RotaryEmbedding(nn.Module):
    """RoPE with keyword-only options and type hints."""

    def __init__(self, *, base: float = 10000.0) -> None:
        super().__init__()
        self.base = base

    def extra_repr(self) -> str:
        return f"base={self.base}"

    def _angles(self, positions: Tensor, width: int) -> Tensor:
        exponents = torch.linspace(0, 1, width // 2 + 1, device=positions.device)[:-1]
        return positions.to(torch.float32).unsqueeze(-1) / self.base**exponents

    def forward(self, x: Tensor, *, offset: int = 0, positions: Tensor | None = None) -> Tensor:
        width = x.shape[-1]
        if width % 2:
            raise ValueError(f"cannot pair {width} columns")
        if positions is None:
            positions = torch.arange(x.shape[2], device=x.device).add(offset)
        if positions.dim() == 1:
            positions = positions[None]
        angles = self._angles(positions, width)[:, None, :, :, None]
        pairs = x.unflatten(-1, (width // 2, 2))
        sign = torch.tensor([-1.0, 1.0], device=x.device)
        turned = pairs * angles.cos() + pairs.roll(1, dims=-1) * sign * angles.sin()
        return turned.flatten(start_dim=-2).to(x.dtype)
