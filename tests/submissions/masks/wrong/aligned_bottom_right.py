"""The diagonal is S - T whatever the offset says: the last query is put at the last key."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    T = query_length
    S = T if key_length is None else key_length
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def padding_mask(lengths, max_length):
    cols = torch.arange(max_length).unsqueeze(0)
    return cols < lengths.unsqueeze(1)


def combine_masks(*masks):
    total = True
    for mask in masks:
        total = mask & total
    return total
