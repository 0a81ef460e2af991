"""Plain Python: one number at a time from the math module."""

import math

import torch


def positional_encoding(seq_len, embed_dim):
    rows = []
    for pos in range(seq_len):
        row = []
        for column in range(embed_dim):
            angle = pos / 10000 ** (2 * (column // 2) / embed_dim)
            row.append(math.sin(angle) if column % 2 == 0 else math.cos(angle))
        rows.append(row)
    return torch.tensor(rows)
