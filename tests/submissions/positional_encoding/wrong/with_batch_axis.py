"""Returned as (1, T, C), ready to be added to a batch."""

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim)
    angle = torch.arange(seq_len)[:, None] / 10000 ** (2 * (c // 2) / embed_dim)
    pe = torch.where(c % 2 == 0, angle.sin(), angle.cos())
    return pe[None]
