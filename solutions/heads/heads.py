"""Reference for splitting and merging heads (Vaswani et al. 2017, section 3.2.2)."""

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Return (B, H, T, D); see the assignment's README."""
    batch, length, width = x.shape
    if width % num_heads != 0:
        raise ValueError(f"a width of {width} cannot be divided among {num_heads} heads")
    head_width = width // num_heads
    return x.reshape(batch, length, num_heads, head_width).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Return (B, T, C); see the assignment's README."""
    batch, num_heads, length, head_width = x.shape
    return x.transpose(1, 2).reshape(batch, length, num_heads * head_width)
