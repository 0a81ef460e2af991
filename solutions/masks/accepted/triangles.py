"""tril with a moved diagonal, repeated rows, and torch.logical_and."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    if key_length is None:
        key_length = query_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(diagonal=query_offset)


def padding_mask(lengths, max_length):
    places = torch.arange(max_length, device=lengths.device).expand(lengths.size(0), max_length)
    return torch.gt(lengths[:, None], places)


def combine_masks(first, *others):
    for other in others:
        first = torch.logical_and(first, other)
    return first
