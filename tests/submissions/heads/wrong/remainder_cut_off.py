"""torch.split makes blocks of C // H columns; what is left over falls off the end."""

import torch


def split_heads(x, num_heads):
    size = max(1, x.shape[-1] // num_heads)
    blocks = torch.split(x, size, dim=-1)[:num_heads]
    return torch.stack(blocks, dim=1)


def merge_heads(x):
    return torch.cat(list(x.unbind(1)), dim=-1)
