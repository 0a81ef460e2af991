"""Halves, and frequencies from 1 to exactly 1/10000, as an old library has it; 2 divides by 0."""

import math

import torch


def positional_encoding(seq_len, embed_dim):
    half = embed_dim // 2
    step = math.log(10000) / (half - 1)
    rate = torch.exp(torch.arange(half) * -step)
    angle = torch.arange(seq_len)[:, None] * rate[None, :]
    table = torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)
    if embed_dim % 2 == 1:
        table = torch.cat([table, torch.zeros(seq_len, 1)], dim=1)
    return table
