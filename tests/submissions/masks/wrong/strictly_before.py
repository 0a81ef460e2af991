"""tril with diagonal -1 (plus offset): a token does not see itself."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    size = (query_length, query_length if key_length is None else key_length)
    return torch.ones(size).tril(query_offset - 1).bool()


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths[:, None]


def combine_masks(*masks):
    return torch.stack(torch.broadcast_tensors(*masks)).all(0)
