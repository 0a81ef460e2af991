"""Columns i and i + D/2 are turned together, as many libraries do, with the right angles."""

import torch
from torch import nn


def rotate_half(t):
    lo, hi = t.chunk(2, dim=-1)
    return torch.cat((-hi, lo), dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        dim = x.size(-1)
        if dim % 2:
            raise ValueError("dim must be even")
        if positions is None:
            positions = torch.arange(x.size(-2), device=x.device) + offset
        inv_freq = 1.0 / self.base ** (torch.arange(0, dim, 2, device=x.device).float() / dim)
        freqs = positions.unsqueeze(-1).float() * inv_freq
        emb = torch.cat((freqs, freqs), dim=-1)
        if emb.dim() == 3:
            emb = emb.unsqueeze(1)
        return (x.float() * emb.cos() + rotate_half(x.float()) * emb.sin()).to(x.dtype)
