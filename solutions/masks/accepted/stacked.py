"""Positions from outer differences; the masks are broadcast, stacked and reduced by all()."""

import torch


def causal_mask(query_length: int, key_length=None, query_offset: int = 0):
    if key_length is None:
        key_length = query_length
    ahead = torch.arange(key_length)[None] - torch.arange(query_length)[:, None]
    return ahead.le(query_offset)


def padding_mask(lengths, max_length):
    left = lengths.reshape(-1, 1) - torch.arange(max_length, device=lengths.device).reshape(1, -1)
    return left > 0


def combine_masks(*masks):
    return torch.stack(torch.broadcast_tensors(*masks)).all(dim=0)
