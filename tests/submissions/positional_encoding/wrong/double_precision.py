"""NumPy's float64 goes out as it is."""

import numpy as np
import torch


def positional_encoding(seq_len, embed_dim):
    c = np.arange(embed_dim)
    angle = np.arange(seq_len)[:, None] / 10000 ** (2 * (c // 2) / embed_dim)
    return torch.from_numpy(np.where(c % 2 == 0, np.sin(angle), np.cos(angle)))
