"""Plain Python loops that fill every entry by itself."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    key_length = key_length if key_length is not None else query_length
    mask = torch.zeros((query_length, key_length), dtype=torch.bool)
    for i in range(query_length):
        visible = i + query_offset + 1
        if visible > 0:
            mask[i, :visible] = True
    return mask


def padding_mask(lengths, max_length):
    rows = []
    for n in lengths.tolist():
        rows.append([True] * n + [False] * (max_length - n))
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)


def combine_masks(*masks):
    masks = torch.broadcast_tensors(*masks)
    result = torch.empty_like(masks[0], memory_format=torch.contiguous_format)
    result.fill_(True)
    for mask in masks:
        result.logical_and_(mask)
    return result
