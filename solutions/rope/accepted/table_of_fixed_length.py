"""A long table of positions is a buffer; a row is picked for each position."""

import torch
import torch.nn.functional as F
from torch import nn

LONGEST = 8192


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10_000.0):
        super().__init__()
        self.base = base
        self.register_buffer("steps", torch.arange(LONGEST), persistent=False)

    def forward(self, x, offset=0, positions=None):
        n, d = x.shape[-2], x.shape[-1]
        if d % 2 != 0:
            raise ValueError("d has to be even")
        inverse = torch.tensor([self.base ** (-2 * i / d) for i in range(d // 2)], device=x.device)
        if positions is None:
            positions = self.steps[offset : offset + n]
        angles = F.embedding(positions, self.steps[:, None] * inverse)
        angles = angles if positions.dim() == 1 else angles.unsqueeze(1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        out = torch.zeros_like(x)
        out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
        return out
