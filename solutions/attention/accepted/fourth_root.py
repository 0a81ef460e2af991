"""Queries and keys are both divided by the fourth root of D, which gives the square root of D."""

from torch import Tensor


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention weights (..., T, S) and the mixed values (..., T, Dv).

    Raises ValueError if a row of the mask is empty.
    """
    root = query.shape[-1] ** -0.25
    scores = (query * root) @ (key * root).transpose(-2, -1)
    if mask is not None:
        mask = mask.ne(0)
        if not mask.any(dim=-1).all():
            raise ValueError("each query needs a key")
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
