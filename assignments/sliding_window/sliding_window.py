"""Sliding-window attention. Fill in the function; README.md says what it has to do."""

import torch


def sliding_window_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, window: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix the values, each query by its weights over its own key and the window - 1 before it.

    Shapes (... stands for any number of leading axes, equal for query, key and value; or none):
        query: (..., T, D)
        key: (..., T, D)
        value: (..., T, Dv)

    Returns:
        output: (..., T, Dv)
        weights: (..., T, T), 0 outside the window

    Raises:
        ValueError: if the window is smaller than 1.
    """
    raise NotImplementedError
