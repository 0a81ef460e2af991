"""Slices `: n + 1` of each row, so that the first padding place counts as a token."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset)


def padding_mask(lengths, max_length):
    mask = torch.zeros(len(lengths), max_length, dtype=torch.bool)
    for b, n in enumerate(lengths):
        mask[b, : n + 1] = True
    return mask


def combine_masks(*masks):
    return torch.stack(torch.broadcast_tensors(*masks)).all(dim=0)
