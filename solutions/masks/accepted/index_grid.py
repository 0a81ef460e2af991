"""meshgrid for the positions, a list comprehension for the padding, minimum for the combination."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    if key_length is None:
        key_length = query_length
    i, j = torch.meshgrid(
        torch.arange(query_offset, query_offset + query_length),
        torch.arange(key_length),
        indexing="ij",
    )
    return i >= j


def padding_mask(lengths, max_length):
    valid = lengths.new_zeros((lengths.shape[0], max_length), dtype=torch.bool)
    for row, length in zip(valid, lengths, strict=True):
        row[: int(length)] = True
    return valid


def combine_masks(mask, *more):
    out = mask.clone()
    for m in more:
        out = torch.minimum(out, m)
    return out
