"""The padding mask is as wide as the longest sequence instead of `max_length`."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    q = torch.arange(query_length)[:, None] + query_offset
    k = torch.arange(query_length if key_length is None else key_length)[None, :]
    return k <= q


def padding_mask(lengths, max_length):
    longest = max(lengths.tolist())
    return torch.arange(longest) < lengths[:, None]


def combine_masks(*masks):
    out = masks[0]
    for m in masks[1:]:
        out = out * m
    return out
