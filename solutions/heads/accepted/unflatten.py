"""unflatten and flatten, which name the axis that is cut."""

import torch


def split_heads(x: torch.Tensor, num_heads: int):
    head_dim, rest = divmod(x.shape[-1], num_heads)
    if rest != 0:
        raise ValueError(f"{x.shape[-1]} columns do not make {num_heads} equal heads")
    return x.unflatten(-1, (num_heads, head_dim)).swapaxes(1, 2)


def merge_heads(x: torch.Tensor):
    return x.swapaxes(1, 2).flatten(start_dim=2)
