"""Reference for attention masks (Vaswani et al. 2017, section 3.2.3)."""

import torch


def causal_mask(
    query_length: int, key_length: int | None = None, query_offset: int = 0
) -> torch.Tensor:
    """Return bool (T, S), True allowed; see the assignment's README."""
    if key_length is None:
        key_length = query_length
    query_positions = torch.arange(query_length) + query_offset
    key_positions = torch.arange(key_length)
    future = key_positions > query_positions.unsqueeze(1)
    return ~future


def padding_mask(lengths: torch.Tensor, max_length: int) -> torch.Tensor:
    """Return bool (B, S), True allowed; see the assignment's README."""
    places = torch.arange(max_length, device=lengths.device)
    padding = places >= lengths.unsqueeze(1)
    return ~padding


def combine_masks(*masks: torch.Tensor) -> torch.Tensor:
    """Return the logical AND of the masks; see the assignment's README."""
    combined = masks[0]
    for mask in masks[1:]:
        combined = combined & mask
    return combined
