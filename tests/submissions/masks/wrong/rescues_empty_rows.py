"""Opens key 0 wherever a row would be empty, so that no softmax sees a row of minus infinity."""

import torch


def _rescue(mask):
    empty = ~mask.any(dim=-1)
    mask = mask.clone()
    mask[..., 0] |= empty
    return mask


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = query_length if key_length is None else key_length
    return _rescue(torch.ones(query_length, key_length, dtype=torch.bool).tril(query_offset))


def padding_mask(lengths, max_length):
    return _rescue(torch.arange(max_length) < lengths[:, None])


def combine_masks(*masks):
    return _rescue(torch.stack(torch.broadcast_tensors(*masks)).all(dim=0))
