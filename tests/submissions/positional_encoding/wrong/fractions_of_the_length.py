"""Positions are spread from 0 to 1."""

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim)
    t = torch.linspace(0, 1, seq_len)
    angle = t[:, None] / 10000 ** (2 * (c // 2) / embed_dim)
    return torch.where(c % 2 == 0, angle.sin(), angle.cos())
