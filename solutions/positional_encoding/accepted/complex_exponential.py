"""Unit complex numbers: imaginary parts are the sines, real parts the cosines."""

import torch


def positional_encoding(seq_len, embed_dim):
    i = torch.arange(0, embed_dim, 2, dtype=torch.float64)
    angle = torch.outer(torch.arange(seq_len, dtype=torch.float64), 10000 ** (-i / embed_dim))
    unit = torch.polar(torch.ones_like(angle), angle)
    table = torch.empty(seq_len, 2 * len(i))
    table[:, ::2] = unit.imag
    table[:, 1::2] = unit.real
    return table[:, :embed_dim].contiguous()
