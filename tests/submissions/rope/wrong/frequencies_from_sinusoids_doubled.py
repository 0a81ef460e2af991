"""The range already goes in steps of two, and is multiplied by two once more."""

import math

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        d_model = x.shape[-1]
        if d_model % 2:
            raise ValueError("even d_model only")
        two_i = torch.arange(0, d_model, 2, device=x.device).float()
        div_term = torch.exp(-2 * two_i / d_model * math.log(self.base))
        if positions is None:
            positions = torch.arange(offset, offset + x.shape[2], device=x.device)
        theta = positions[..., None] * div_term
        theta = theta if positions.dim() == 1 else theta[:, None]
        u, v = x[..., ::2], x[..., 1::2]
        return torch.stack(
            (u * theta.cos() - v * theta.sin(), v * theta.cos() + u * theta.sin()), dim=-1
        ).flatten(-2).type_as(x)
