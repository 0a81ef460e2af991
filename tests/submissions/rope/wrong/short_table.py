"""A table of 256 positions, made once; what lies beyond wraps around to its beginning."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0, max_len=256):
        super().__init__()
        self.base, self.max_len = base, max_len

    def forward(self, x, offset=0, positions=None):
        T, D = x.shape[-2:]
        if D % 2:
            raise ValueError("D must be even")
        t = torch.arange(self.max_len, device=x.device)
        table = t[:, None] * self.base ** (-torch.arange(0, D, 2, device=x.device) / D)
        if positions is None:
            positions = torch.arange(offset, offset + T, device=x.device)
        angle = table[positions % self.max_len]
        if positions.dim() == 2:
            angle = angle[:, None]
        c, s = torch.cos(angle), torch.sin(angle)
        p, q = x[..., 0::2], x[..., 1::2]
        return torch.stack([p * c - q * s, p * s + q * c], dim=-1).reshape(x.shape).to(x.dtype)
