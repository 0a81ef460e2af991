"""A table for 512 positions is made and sliced."""

import torch


def positional_encoding(seq_len, embed_dim, max_len=512):
    c = torch.arange(embed_dim)
    angle = torch.arange(max_len)[:, None] / 10000 ** (2 * (c // 2) / embed_dim)
    return torch.where(c % 2 == 0, angle.sin(), angle.cos())[:seq_len]
