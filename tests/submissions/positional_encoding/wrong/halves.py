"""All sines, then all cosines."""

import torch


def positional_encoding(seq_len, embed_dim):
    n = (embed_dim + 1) // 2
    rate = 10000.0 ** (-2 * torch.arange(n) / embed_dim)
    angle = torch.arange(seq_len)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)[:, :embed_dim]
