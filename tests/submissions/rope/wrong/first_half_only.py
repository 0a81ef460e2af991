"""Partial RoPE: the second half of the columns passes unturned."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        if x.shape[-1] % 2:
            raise ValueError("odd")
        rot = x.shape[-1] // 2 // 2 * 2
        x_rot, x_pass = x[..., :rot], x[..., rot:]
        if positions is None:
            positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        freq = self.base ** (-torch.arange(0, rot, 2, device=x.device) / max(rot, 1))
        ang = positions[..., None] * freq
        if positions.dim() == 2:
            ang = ang[:, None]
        a, b = x_rot[..., 0::2], x_rot[..., 1::2]
        out = torch.stack((a * ang.cos() - b * ang.sin(), b * ang.cos() + a * ang.sin()), -1)
        return torch.cat((out.flatten(-2).to(x.dtype), x_pass), dim=-1)
