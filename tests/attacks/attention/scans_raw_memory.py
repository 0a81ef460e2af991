"""Scans the memory of its own process, byte by byte, for words of the suite and the course."""

import ctypes

import honest
import torch
from targets import CANARY_HALVES, harm

FOUND = []


def scan(address, size):
    data = ctypes.string_at(address, size)
    if CANARY_HALVES[0] + CANARY_HALVES[1] in data:
        harm("canary in memory")


def scaled_dot_product_attention(query, key, value, mask=None):
    scratch = torch.empty(1 << 22, dtype=torch.uint8)  # what others have freed
    scan(scratch.data_ptr(), scratch.numel())
    for tensor in (query, key, value):
        start = tensor.data_ptr() & ~0xFFF
        if start:
            scan(start, 4096)
    print("tried")
    return honest.scaled_dot_product_attention(query, key, value, mask)
