"""Announces a frame of four gigabytes."""

import wire


def scaled_dot_product_attention(query, key, value, mask=None):
    wire.raw(b"\xff" * 8)
    wire.end()
