"""A pair is a complex number, and turning it is multiplying by another one of length 1."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        *_, T, D = x.shape
        if D % 2 != 0:
            raise ValueError("odd width")
        if positions is None:
            positions = torch.arange(T, device=x.device) + offset
        freqs = 1.0 / (self.base ** (torch.arange(0, D, 2, device=x.device).float() / D))
        angles = positions.float().unsqueeze(-1) * freqs
        factor = torch.polar(torch.ones_like(angles), angles)
        if positions.ndim == 2:
            factor = factor.unsqueeze(1)
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], D // 2, 2))
        return torch.view_as_real(pairs * factor).flatten(3).type_as(x)
