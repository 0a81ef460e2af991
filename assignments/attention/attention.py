"""Scaled dot-product attention. Fill in the function; README.md says what it has to do."""

import torch


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mix the values, each query by its own weights over the keys.

    Shapes (... stands for any number of leading axes, equal for query, key and value; or none):
        query: (..., T, D)
        key: (..., S, D)
        value: (..., S, Dv)
        mask: bool or integer, broadcasts to (..., T, S); True or non-zero means allowed

    Returns:
        output: (..., T, Dv)
        weights: (..., T, S)

    Raises:
        ValueError: if a query has no allowed key.
    """
    raise NotImplementedError
