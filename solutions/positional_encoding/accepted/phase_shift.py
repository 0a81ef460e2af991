"""A cosine is a sine a quarter turn ahead: one sine with a shift in the odd columns."""

import math

import torch


def positional_encoding(seq_len, embed_dim):
    c = torch.arange(embed_dim, dtype=torch.float64)
    rate = torch.exp(-math.log(10000) * 2 * torch.floor(c / 2) / embed_dim)
    shift = math.pi / 2 * (c % 2)
    t = torch.arange(seq_len, dtype=torch.float64).reshape(-1, 1)
    return torch.sin(t * rate + shift).to(torch.float32)
