"""Every column gets its angle, and torch.where decides by parity."""

import torch


def positional_encoding(seq_len, embed_dim):
    columns = torch.arange(embed_dim)
    exponent = (columns - columns % 2) / embed_dim
    angles = torch.outer(torch.arange(seq_len, dtype=torch.float32), 10000.0**-exponent)
    return torch.where(columns % 2 == 0, torch.sin(angles), torch.cos(angles))
