"""Works out what is blocked, and turns it round at the very end; De Morgan for the combination."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    columns = query_length if key_length is None else key_length
    future = torch.triu(torch.ones(query_length, columns), diagonal=1 + query_offset)
    return future == 0


def padding_mask(lengths, max_length):
    is_padding = torch.arange(max_length, device=lengths.device)[None, :] >= lengths[:, None]
    return is_padding.logical_not()


def combine_masks(*masks):
    blocked = ~masks[0]
    for mask in masks[1:]:
        blocked = blocked | ~mask
    return ~blocked
