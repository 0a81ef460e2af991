"""Halves are swapped and negated, but the angles are repeated for adjacent columns."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        D = x.shape[-1]
        if D % 2 == 1:
            raise ValueError("D is odd")
        pos = torch.arange(offset, offset + x.shape[-2], device=x.device)
        if positions is not None:
            pos = positions
        speed = self.base ** (-torch.arange(0, D, 2, device=x.device) / D)
        theta = (pos[..., None] * speed).repeat_interleave(2, -1)
        if pos.dim() == 2:
            theta = theta[:, None]
        a, b = x[..., : D // 2], x[..., D // 2 :]
        out = x * theta.cos() + torch.cat([-b, a], -1) * theta.sin()
        return out.to(x.dtype)
