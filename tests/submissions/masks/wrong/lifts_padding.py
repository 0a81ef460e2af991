"""Lifts masks by itself: whatever has two axes is taken for a padding mask."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset)


def padding_mask(lengths, max_length):
    return (torch.arange(max_length) < lengths[:, None])[:, None, None, :]


def combine_masks(*masks):
    result = None
    for m in masks:
        if m.dim() == 2:
            m = m[:, None, None, :]
        result = m if result is None else result & m
    return result
