"""Positions (B, T) are broadcast as they are: their first axis meets the heads."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        *_, length, width = x.shape
        if width % 2:
            raise ValueError("width must be even")
        if positions is None:
            positions = torch.arange(length, device=x.device) + offset
        freq = self.base ** (torch.arange(0, width, 2, device=x.device) / -width)
        angle = torch.einsum("...t,f->...tf", positions.float(), freq)
        even, odd = x[..., 0::2].float(), x[..., 1::2].float()
        out = torch.empty(x.shape, device=x.device)
        out[..., 0::2] = even * angle.cos() - odd * angle.sin()
        out[..., 1::2] = even * angle.sin() + odd * angle.cos()
        return out.to(x.dtype)
