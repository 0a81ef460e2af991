"""Reads address 0 when called."""

import ctypes


def scaled_dot_product_attention(query, key, value, mask=None):
    ctypes.string_at(0)
