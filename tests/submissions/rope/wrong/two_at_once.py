"""Two mistakes: the sign of the turn, and positions that start at 1."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        T, D = x.shape[2:]
        if D % 2:
            raise ValueError("D % 2")
        if positions is None:
            positions = torch.arange(offset + 1, offset + T + 1, device=x.device)
        w = self.base ** (-torch.arange(0, D, 2, device=x.device) / D)
        a = positions[..., None] * w
        if positions.dim() == 2:
            a = a[:, None]
        e, o = x[..., 0::2], x[..., 1::2]
        y = torch.stack((e * a.cos() + o * a.sin(), o * a.cos() - e * a.sin()), dim=-1)
        return y.flatten(-2).to(x.dtype)
