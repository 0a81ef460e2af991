"""The lab's masks: positions compared, validity lifted and joined with &. Nothing is wrong."""

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    keys_in_all = query_length if key_length is None else key_length
    at_query = torch.arange(query_offset, query_offset + query_length)
    at_key = torch.arange(0, keys_in_all)
    return at_key[None, :] <= at_query[:, None]


def padding_mask(lengths, max_length):
    valid = torch.zeros(lengths.shape[0], max_length, dtype=torch.bool)
    for item in range(lengths.shape[0]):
        valid[item, : lengths[item]] = True
    return valid


def combine_masks(*masks):
    allowed = masks[0]
    for rule in masks[1:]:
        allowed = allowed & rule
    return allowed
