"""The article's mask matrix: 1 lets through and 0 masks, as numbers."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    width = query_length if key_length is None else key_length
    return torch.tril(torch.ones(query_length, width), diagonal=query_offset)


def padding_mask(lengths, max_length):
    return (torch.arange(max_length) < lengths[:, None]).float()


def combine_masks(*masks):
    product = masks[0].float()
    for matrix in masks[1:]:
        product = product * matrix.float()
    return product
