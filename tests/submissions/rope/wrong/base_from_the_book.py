"""The constructor takes a base and computes with 10000."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()

    def forward(self, x, offset=0, positions=None):
        n = x.shape[-1] // 2
        if 2 * n != x.shape[-1]:
            raise ValueError("odd number of columns")
        if positions is None:
            positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        speed = 10000 ** (-torch.arange(n, device=x.device) / n)
        angle = positions.unsqueeze(-1) * speed
        if positions.ndim == 2:
            angle = angle.unsqueeze(1)
        left, right = x.unflatten(-1, (n, 2)).unbind(-1)
        new_left = left * angle.cos() - right * angle.sin()
        new_right = left * angle.sin() + right * angle.cos()
        return torch.stack([new_left, new_right], dim=-1).flatten(-2).to(x.dtype)
