"""Two transposes and a chunked view; the merge goes through a list of tokens."""

import torch


def split_heads(x, num_heads):
    batch, length, width = x.shape
    if width % num_heads != 0:
        raise AssertionError("num_heads must divide the width")
    columns_first = x.transpose(1, 2).reshape(batch, num_heads, width // num_heads, length)
    return columns_first.transpose(2, 3)


def merge_heads(x):
    tokens = [x[:, :, t].reshape(x.shape[0], -1) for t in range(x.shape[2])]
    return torch.stack(tokens, dim=1)
