"""triu with diagonal 2 marks the future, one position too late."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    if key_length is None:
        key_length = query_length
    future = torch.triu(torch.ones(query_length, key_length), diagonal=query_offset + 2)
    return future != 1


def padding_mask(lengths, max_length):
    return lengths[:, None] > torch.arange(max_length)


def combine_masks(*masks):
    result = masks[0]
    for mask in masks:
        result = result.logical_and(mask)
    return result
