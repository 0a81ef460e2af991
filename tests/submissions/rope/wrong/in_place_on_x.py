"""The columns of the input itself are overwritten with the turned ones."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    @torch.no_grad()
    def forward(self, x, offset=0, positions=None):
        if x.shape[-1] % 2:
            raise ValueError("not even")
        if positions is None:
            positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        k = torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1]
        angle = positions[..., None] / self.base**k
        angle = angle.unsqueeze(1) if angle.dim() == 3 else angle
        a = x[..., 0::2].clone()
        b = x[..., 1::2].clone()
        x[..., 0::2] = a * angle.cos() - b * angle.sin()
        x[..., 1::2] = b * angle.cos() + a * angle.sin()
        return x
