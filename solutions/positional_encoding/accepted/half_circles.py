"""Concatenates halves and then interleaves the columns by an index; float32 with a division."""

import torch


def positional_encoding(seq_len, embed_dim):
    n_sin = embed_dim - embed_dim // 2
    divisor = torch.tensor([10000 ** (2 * k / embed_dim) for k in range(n_sin)])
    phase = torch.arange(seq_len).unsqueeze(-1) / divisor
    halves = torch.cat([phase.sin(), phase.cos()], dim=-1)
    order = [c // 2 if c % 2 == 0 else n_sin + c // 2 for c in range(embed_dim)]
    return halves[:, order]
