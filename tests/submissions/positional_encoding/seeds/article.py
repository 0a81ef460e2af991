"""The article's function, which is right, odd widths included; only its printed row is not."""

import math

import torch


def positional_encoding(seq_len, embed_dim):
    table = torch.zeros(seq_len, embed_dim)
    pos = torch.arange(seq_len, dtype=torch.float32)[:, None]
    rate = torch.exp(torch.arange(0, embed_dim, 2, dtype=torch.float32) * -(math.log(1e4) / embed_dim))
    table[:, 0::2] = (pos * rate).sin()
    rate = rate[:-1] if embed_dim % 2 else rate
    table[:, 1::2] = (pos * rate).cos()
    return table
