"""Complex numbers, multiplied by the conjugate: everything turns backwards."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        b, h, t, d = x.shape
        if d % 2:
            raise ValueError("cannot make pairs")
        p = positions if positions is not None else torch.arange(offset, offset + t).to(x.device)
        phase = p.float()[..., None] / self.base ** (torch.arange(0, d, 2, device=x.device) / d)
        phase = phase.view(-1, 1, t, d // 2)
        z = torch.view_as_complex(x.float().reshape(b, h, t, d // 2, 2))
        z = z * torch.exp(-1j * phase)
        return torch.view_as_real(z).reshape(b, h, t, d).to(x.dtype)
