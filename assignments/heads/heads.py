"""Splitting into heads and merging again. Fill in both; README.md says what they have to do."""

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Give each head its own columns of every token.

    Shapes:
        x: (B, T, C)

    Returns:
        (B, H, T, D) with H = num_heads and D = C / H; head h holds columns hD to (h+1)D

    Raises:
        ValueError (or AssertionError): if C cannot be divided by num_heads.
    """
    raise NotImplementedError


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads' columns side by side again: the inverse of ``split_heads``.

    Shapes:
        x: (B, H, T, D)

    Returns:
        (B, T, C) with C = H x D
    """
    raise NotImplementedError
