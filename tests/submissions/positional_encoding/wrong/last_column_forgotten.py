"""Loops over whole pairs, so the last column of an odd width stays 0."""

import torch


def positional_encoding(seq_len, embed_dim):
    pe = torch.zeros(seq_len, embed_dim)
    t = torch.arange(seq_len, dtype=torch.float64)
    for i in range(embed_dim // 2):
        angle = t / 10000 ** (2 * i / embed_dim)
        pe[:, 2 * i] = torch.sin(angle)
        pe[:, 2 * i + 1] = torch.cos(angle)
    return pe
