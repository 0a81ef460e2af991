"""One zero is missing in the base."""

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim)
    angle = torch.arange(seq_len)[:, None] / 1000 ** (2 * (c // 2) / embed_dim)
    return torch.where(c % 2 == 0, angle.sin(), angle.cos())
