"""Written for inputs (B, T, H, D): axis 1 is taken for the sequence."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        seq_len, dim = x.shape[1], x.shape[3]
        if dim % 2:
            raise ValueError("dim")
        pos = torch.arange(offset, offset + seq_len, device=x.device)
        if positions is not None:
            pos = positions
        freqs = self.base ** (-torch.arange(0, dim, 2, device=x.device) / dim)
        angle = pos[..., None, None] * freqs
        cos, sin = angle.cos(), angle.sin()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2).to(x.dtype)
