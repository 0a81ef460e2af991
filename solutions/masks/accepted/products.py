"""Arithmetic on zeros and ones, turned into bool at the end."""

import functools
import operator

import torch


def causal_mask(query_length, key_length=None, query_offset=0):
    n, m = query_length, query_length if key_length is None else key_length
    return torch.tril(torch.ones(n, m), query_offset).bool()


def padding_mask(lengths, max_length):
    ones = torch.ones(len(lengths), max_length, dtype=torch.long, device=lengths.device)
    counted = ones.cumsum(dim=1)
    return counted <= lengths.view(-1, 1)


def combine_masks(*masks):
    return functools.reduce(operator.mul, [m.int() for m in masks]) != 0
