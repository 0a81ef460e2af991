"""`combine_masks` wants its masks in one list."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset)


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths[:, None]


def combine_masks(masks):
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return result
