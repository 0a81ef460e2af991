"""Sinusoidal positional encoding. Fill in the function; README.md says what it has to do."""

import torch


def positional_encoding(seq_len: int, embed_dim: int) -> torch.Tensor:
    """Describe each position by sines and cosines of falling frequencies.

    Pair i of columns, 2i and 2i + 1, holds the sine and the cosine of position x frequency, with
    the frequency 10000^(-2i / embed_dim). An odd width has no cosine for its last sine.

    Returns:
        float32 (T, C) with T = seq_len and C = embed_dim
    """
    raise NotImplementedError
