"""The first position is number 1."""

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim)
    t = 1 + torch.arange(seq_len)
    angle = t[:, None] * 10000.0 ** (-2 * (c // 2) / embed_dim)
    return torch.where(c % 2 == 0, angle.sin(), angle.cos())
