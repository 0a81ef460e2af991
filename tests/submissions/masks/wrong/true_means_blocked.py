"""All three follow the opposite convention: True marks what is blocked, and blocks are ORed."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = key_length or query_length
    return torch.triu(
        torch.ones(query_length, key_length, dtype=torch.bool), diagonal=query_offset + 1
    )


def padding_mask(lengths, max_length):
    return torch.arange(max_length)[None, :] >= lengths[:, None]


def combine_masks(*masks):
    blocked = masks[0]
    for m in masks[1:]:
        blocked = blocked | m
    return blocked
