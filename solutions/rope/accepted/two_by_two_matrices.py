"""Each pair is multiplied by a 2 x 2 matrix of its own."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base: float = 10000.0) -> None:
        super().__init__()
        self.base = float(base)

    def matrices(self, positions, width):
        pair = torch.arange(width // 2, device=positions.device)
        angle = positions[..., None] * self.base ** (-2.0 * pair / width)
        cos, sin = torch.cos(angle), torch.sin(angle)
        return torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)

    def forward(self, x, offset=0, positions=None):
        B, H, T, D = x.shape
        if D % 2:
            raise ValueError
        if positions is None:
            positions = torch.arange(T, device=x.device) + offset
        turns = self.matrices(positions.expand(B, T), D)
        pairs = x.reshape(B, H, T, D // 2, 2)
        turned = torch.einsum("btprc,bhtpc->bhtpr", turns.to(torch.float64), pairs.double())
        return turned.reshape(B, H, T, D).to(x.dtype)
