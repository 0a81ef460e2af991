"""Sines and cosines are stacked as a last axis and flattened; one column too many is cut off."""

import torch


def positional_encoding(seq_len: int, embed_dim: int) -> torch.Tensor:
    pairs = (embed_dim + 1) // 2
    i = torch.arange(pairs)
    wavelengths = torch.pow(10000.0, 2 * i / embed_dim)
    angles = torch.arange(seq_len)[:, None] / wavelengths[None, :]
    both = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return both.flatten(1)[:, :embed_dim]
