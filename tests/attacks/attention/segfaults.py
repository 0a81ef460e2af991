"""Reads from address 0 in a call."""

import ctypes


def scaled_dot_product_attention(query, key, value, mask=None):
    ctypes.string_at(0)
