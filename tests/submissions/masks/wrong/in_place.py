"""`logical_and_` on the first mask, and a count-down on the lengths."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset)


def padding_mask(lengths, max_length):
    columns = []
    for _ in range(max_length):
        columns.append(lengths > 0)
        lengths -= 1
    return torch.stack(columns, dim=1)


def combine_masks(*masks):
    for mask in masks[1:]:
        masks[0].logical_and_(mask)
    return masks[0]
