"""x times cosines plus a copy of x with swapped and negated columns times sines."""

import math

import torch
from torch import nn


def quarter_turn(x):
    """[a, b, c, d, ...] becomes [-b, a, -d, c, ...]."""
    swapped = torch.empty_like(x)
    swapped[..., 0::2] = -x[..., 1::2]
    swapped[..., 1::2] = x[..., 0::2]
    return swapped


class RotaryEmbedding(nn.Module):
    def __init__(self, base: float = 10000.0):
        super().__init__()
        self.log_base = math.log(base)

    def forward(self, x, offset=0, positions=None):
        length, width = x.size(2), x.size(3)
        if width & 1:
            raise ValueError(f"width {width} is odd")
        if positions is None:
            positions = torch.arange(offset, offset + length, device=x.device)
        columns = torch.arange(width // 2, device=x.device, dtype=torch.float32)
        frequencies = torch.exp(-2 * columns * self.log_base / width)
        theta = (positions.unsqueeze(-1) * frequencies).repeat_interleave(2, dim=-1)
        if theta.dim() == 3:
            theta = theta.unsqueeze(1)
        wide = x if x.dtype == torch.float64 else x.float()
        return (wide * theta.cos() + quarter_turn(wide) * theta.sin()).to(x.dtype)
