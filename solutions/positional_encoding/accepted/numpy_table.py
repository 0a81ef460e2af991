"""Built with NumPy, handed over as float32."""

import numpy as np
import torch


def positional_encoding(seq_len, embed_dim):
    column = np.arange(embed_dim)
    angle = np.arange(seq_len)[:, None] / np.power(10000, 2 * (column // 2) / embed_dim)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return torch.from_numpy(angle).float()
