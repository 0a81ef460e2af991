"""Two at once: the next token is seen, and masks are combined with OR."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset + 1)


def padding_mask(lengths, max_length):
    return torch.arange(max_length) < lengths[:, None]


def combine_masks(*masks):
    return torch.stack(torch.broadcast_tensors(*masks)).any(dim=0)
