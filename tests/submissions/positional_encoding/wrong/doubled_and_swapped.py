"""Two at once: the exponent is doubled and the cosine comes first."""

import torch


def positional_encoding(seq_len, embed_dim):
    i = torch.arange(0, embed_dim, 2).double()
    angle = torch.arange(seq_len).double()[:, None] / 10000 ** (2 * i / embed_dim)
    pe = torch.zeros(seq_len, embed_dim)
    pe[:, ::2] = angle.cos()
    pe[:, 1::2] = angle.sin()[:, : embed_dim // 2]
    return pe
