"""A single vector is taken for the beginning of a sequence, whatever the offset says."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        width = x.shape[-1]
        if width % 2:
            raise ValueError("the width is odd")
        length = x.shape[-2]
        if length == 1 and positions is None:
            return x.clone()
        if positions is None:
            positions = torch.arange(offset, offset + length, device=x.device)
        speed = self.base ** (-torch.arange(0, width, 2, device=x.device) / width)
        angle = positions.unsqueeze(-1) * speed
        if angle.dim() == 3:
            angle = angle.unsqueeze(1)
        a, b = x[..., ::2], x[..., 1::2]
        out = torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)
        return out.flatten(-2).to(x.dtype)
