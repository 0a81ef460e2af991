"""Only the offset counts; `positions` is taken and forgotten."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        B, H, T, D = x.shape
        if D % 2 != 0:
            raise ValueError(f"{D} is odd")
        i = torch.arange(D // 2, device=x.device)
        t = torch.arange(T, device=x.device) + offset
        angle = t[:, None] * self.base ** (-2 * i / D)[None, :]
        x1, x2 = x.reshape(B, H, T, D // 2, 2).unbind(-1)
        y1 = x1 * angle.cos() - x2 * angle.sin()
        y2 = x1 * angle.sin() + x2 * angle.cos()
        return torch.stack([y1, y2], dim=-1).reshape(B, H, T, D).to(x.dtype)
