"""Head h takes every H-th column, starting at h."""

import torch


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads != 0:
        raise ValueError("not divisible")
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


def merge_heads(x):
    B, H, T, D = x.shape
    merged = x.new_zeros(B, T, H * D)
    for h in range(H):
        merged[..., h::H] = x[:, h]
    return merged
