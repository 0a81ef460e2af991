"""Loops over columns and uses the column's own number in the exponent."""

import math

import torch


def positional_encoding(seq_len, embed_dim):
    pe = torch.zeros(seq_len, embed_dim)
    for pos in range(seq_len):
        for c in range(embed_dim):
            angle = pos / (10000 ** (c / embed_dim))
            pe[pos, c] = math.sin(angle) if c % 2 == 0 else math.cos(angle)
    return pe
