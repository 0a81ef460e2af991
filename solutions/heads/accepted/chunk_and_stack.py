"""Cuts the columns into blocks and stacks them; merging concatenates the heads."""

import torch


def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError("width is not a multiple of the number of heads")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)
