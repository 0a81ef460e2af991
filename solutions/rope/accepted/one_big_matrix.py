"""One D x D matrix for each position, with the pairs' turns along its diagonal."""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base: float = 10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset: int = 0, positions=None):
        T, D = x.shape[-2], x.shape[-1]
        if D % 2 == 1:
            raise ValueError("D is odd")
        if positions is None:
            positions = torch.arange(offset, offset + T, device=x.device)
        speed = self.base ** (-torch.arange(0, D, 2, device=x.device).double() / D)
        angle = positions.double().unsqueeze(-1) * speed
        matrix = torch.diag_embed(angle.cos().repeat_interleave(2, dim=-1))
        beside = angle.sin().repeat_interleave(2, dim=-1)[..., :-1].clone()
        beside[..., 1::2] = 0
        matrix = matrix + torch.diag_embed(beside, -1) - torch.diag_embed(beside, 1)
        if matrix.dim() == 4:
            matrix = matrix.unsqueeze(1)
        return (matrix.to(x.dtype) @ x.unsqueeze(-1)).squeeze(-1)
