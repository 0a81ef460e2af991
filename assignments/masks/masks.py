"""Attention masks. Fill in the functions; README.md says what they have to do."""

import torch


def causal_mask(
    query_length: int, key_length: int | None = None, query_offset: int = 0
) -> torch.Tensor:
    """Allow each query the keys up to its own position.

    Query i stands at position i + query_offset, key j at position j. Without ``key_length`` there
    are as many keys as queries.

    Returns:
        bool (T, S), True means allowed
    """
    raise NotImplementedError


def padding_mask(lengths: torch.Tensor, max_length: int) -> torch.Tensor:
    """Allow the first ``lengths[b]`` keys of sequence b; the rest is padding.

    Shapes:
        lengths: integers (B,), each from 0 to max_length

    Returns:
        bool (B, S) with S = max_length, True means allowed
    """
    raise NotImplementedError


def combine_masks(*masks: torch.Tensor) -> torch.Tensor:
    """Allow what every one of the masks allows.

    Shapes:
        masks: one or more, bool, of any shapes that broadcast together

    Returns:
        bool, of the shape that they broadcast to
    """
    raise NotImplementedError
