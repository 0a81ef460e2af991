"""Cosines and sines are kept in a table that grows when a longer sequence comes."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base
        self.tables = {}

    def table(self, width, length, device):
        key = (width, device)
        if key not in self.tables or self.tables[key].shape[0] < length:
            steps = torch.arange(max(length, 64), device=device, dtype=torch.float32)
            inverse = self.base ** (
                -torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
            )
            angles = torch.outer(steps, inverse)
            self.tables[key] = torch.stack((angles.cos(), angles.sin()), dim=-1)
        return self.tables[key]

    def forward(self, x, offset=0, positions=None):
        length, width = x.shape[-2:]
        if width % 2 == 1:
            raise ValueError("an even width is needed")
        if positions is None:
            rows = self.table(width, offset + length, x.device)[offset : offset + length]
        else:
            rows = self.table(width, int(positions.max()) + 1, x.device)[positions]
        if rows.dim() == 4:
            rows = rows[:, None]
        cos, sin = rows[..., 0], rows[..., 1]
        pairs = x.unflatten(-1, (-1, 2))
        a, b = pairs[..., 0], pairs[..., 1]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2).to(x.dtype)
