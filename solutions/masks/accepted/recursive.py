"""Recursion for the combination, torch.where for the two others, keyword defaults of its own."""

import torch

TRUE, FALSE = torch.tensor(True), torch.tensor(False)


def causal_mask(query_length, key_length=None, *, query_offset=0):
    keys = torch.arange(query_length if key_length is None else key_length)
    queries = torch.arange(query_length)
    return torch.where(keys > queries[:, None] + query_offset, FALSE, TRUE)


def padding_mask(lengths, max_length):
    spots = torch.arange(1, max_length + 1).to(lengths)
    return torch.where(spots <= lengths.unsqueeze(-1), TRUE, FALSE)


def combine_masks(*masks):
    if len(masks) == 1:
        return masks[0]
    return combine_masks(masks[0] & masks[1], *masks[2:])
