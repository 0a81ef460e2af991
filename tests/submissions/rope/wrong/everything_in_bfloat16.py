"""Positions, frequencies and angles take the dtype of x, also where that is bfloat16."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        opts = {"device": x.device, "dtype": x.dtype}
        b, h, n, d = x.shape
        if d % 2:
            raise ValueError("odd head width")
        if positions is None:
            positions = torch.arange(offset, offset + n, device=x.device)
        theta = positions.to(x.dtype)[..., None] * self.base ** (-torch.arange(0, d, 2, **opts) / d)
        theta = theta.reshape(-1, 1, n, d // 2)
        even, odd = x[..., 0::2], x[..., 1::2]
        rot = (even * theta.cos() - odd * theta.sin(), even * theta.sin() + odd * theta.cos())
        return torch.stack(rot, dim=-1).reshape(b, h, n, d)
