"""The cosine stands before the sine."""

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim)
    angle = torch.arange(seq_len)[:, None] / 10000 ** (2 * (c // 2) / embed_dim)
    return torch.where(c % 2 == 1, angle.sin(), angle.cos())
