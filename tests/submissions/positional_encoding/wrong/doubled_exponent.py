"""A range in steps of two is multiplied by two again."""

import torch


def positional_encoding(seq_len, embed_dim):
    i = torch.arange(0, embed_dim, 2).float()
    angle = torch.arange(seq_len).float()[:, None] / 10000 ** (2 * i / embed_dim)
    pe = torch.zeros(seq_len, embed_dim)
    pe[:, ::2] = angle.sin()
    pe[:, 1::2] = angle.cos()[:, : embed_dim // 2]
    return pe
