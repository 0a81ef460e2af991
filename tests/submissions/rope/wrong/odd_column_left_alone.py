"""With an odd width the last column is left as it is, and no error is raised."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        width = x.shape[-1]
        even_part, rest = x[..., : width // 2 * 2], x[..., width // 2 * 2 :]
        if positions is None:
            positions = offset + torch.arange(x.shape[-2], device=x.device)
        i = torch.arange(width // 2, device=x.device, dtype=torch.float64)
        angle = positions[..., None] * self.base ** (-2 * i / width)
        if positions.dim() == 2:
            angle = angle[:, None]
        a, b = even_part[..., 0::2], even_part[..., 1::2]
        pairs = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
        turned = torch.stack(pairs, dim=-1).flatten(-2).to(x.dtype)
        return torch.cat([turned, rest], dim=-1)
