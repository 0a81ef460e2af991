"""The offset is added to the keys' positions."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    if key_length is None:
        key_length = query_length
    q_pos = torch.arange(query_length).view(-1, 1)
    k_pos = torch.arange(query_offset, query_offset + key_length).view(1, -1)
    return q_pos >= k_pos


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths[:, None]


def combine_masks(*masks):
    result = torch.tensor(True)
    for mask in masks:
        result = result & mask
    return result
