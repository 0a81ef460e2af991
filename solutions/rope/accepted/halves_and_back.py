"""Columns are reordered into halves, turned as halves, and put back where they were."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    """Written for the half-split layout, and wrapped for the adjacent one."""

    def __init__(self, base=10000.0):
        super().__init__()
        self.register_buffer("base", torch.tensor(float(base), dtype=torch.float64))

    def forward(self, x, offset=0, positions=None):
        D = x.shape[-1]
        if D % 2:
            raise ValueError("D must be even")
        order = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]).to(x.device)
        if positions is None:
            positions = offset + torch.arange(x.shape[-2], device=x.device)
        exponent = torch.arange(0, D, 2, device=x.device, dtype=torch.float64) / -D
        angle = positions.double()[..., None] * torch.pow(self.base, exponent)
        angle = torch.cat((angle, angle), dim=-1).to(torch.float32)
        if positions.dim() > 1:
            angle = angle.unsqueeze(-3)
        halves = x[..., order]
        left, right = halves.chunk(2, dim=-1)
        turned = halves * angle.cos() + torch.cat((-right, left), dim=-1) * angle.sin()
        return turned[..., order.argsort()].to(x.dtype)
