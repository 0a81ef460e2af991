"""Turning is the exponential of an angle times the generator of turns."""

import torch
from torch import nn

GENERATOR = [[0.0, -1.0], [1.0, 0.0]]


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        b, h, t, d = x.shape
        if d % 2 != 0:
            raise ValueError("even d only")
        if positions is None:
            positions = torch.arange(t, device=x.device) + offset
        if positions.dim() == 1:
            positions = positions.expand(b, -1)
        speed = self.base ** -(torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
        angle = torch.remainder(positions.double()[..., None] * speed, 2 * torch.pi)
        generator = torch.tensor(GENERATOR, dtype=torch.float64, device=x.device)
        turns = torch.linalg.matrix_exp(angle[..., None, None] * generator)[:, None]
        pairs = x.reshape(b, h, t, d // 2, 2, 1).double()
        return (turns @ pairs).reshape(b, h, t, d).to(x.dtype)
