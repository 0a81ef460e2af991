"""A triangle made once, 64 by 64, is sliced; whatever is longer does not fit."""

import torch

TRIANGLE = torch.tril(torch.ones(64, 64, dtype=torch.bool))


def causal_mask(query_length, key_length=None, query_offset=0):
    stop = key_length if key_length is not None else query_length
    rows = torch.arange(query_length) + query_offset
    mask = TRIANGLE[rows.clamp(0, 63), :stop].clone()
    mask[rows < 0] = False
    return mask


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths.reshape(-1, 1)


def combine_masks(first, *rest):
    for other in rest:
        first = first & other
    return first
