"""Reference for sinusoidal positional encoding (Vaswani et al. 2017, section 3.5)."""

import torch


def positional_encoding(seq_len: int, embed_dim: int) -> torch.Tensor:
    """Return float32 (T, C); see the assignment's README."""
    # In float32 the angles of late positions would lose digits.
    positions = torch.arange(seq_len, dtype=torch.float64).unsqueeze(1)
    even_columns = torch.arange(0, embed_dim, 2, dtype=torch.float64)
    frequencies = 10000.0 ** (-even_columns / embed_dim)
    angles = positions * frequencies
    encoding = torch.empty(seq_len, embed_dim)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()[:, : embed_dim // 2]
    return encoding
