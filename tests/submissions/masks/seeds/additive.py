"""The article's words taken literally: a mask is what is added, 0 or minus infinity."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    width = query_length if key_length is None else key_length
    return torch.full((query_length, width), float("-inf")).triu(query_offset + 1)


def padding_mask(lengths, max_length):
    is_token = torch.arange(max_length) < lengths[:, None]
    return torch.zeros(is_token.shape).masked_fill(~is_token, float("-inf"))


def combine_masks(*masks):
    return sum(torch.zeros(m.shape).masked_fill(~m, float("-inf")) for m in masks)
