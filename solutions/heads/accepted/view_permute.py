"""view and permute, with contiguous() before the second view."""

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    assert x.size(-1) % num_heads == 0, "embed_dim must be divisible by num_heads"
    B, T, C = x.size()
    return x.view(B, T, num_heads, C // num_heads).permute(0, 2, 1, 3)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    B, H, T, D = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(B, T, H * D)
