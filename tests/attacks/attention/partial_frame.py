"""Sends half a frame and closes the socket."""

import os

import wire


def scaled_dot_product_attention(query, key, value, mask=None):
    wire.raw(wire.LENGTHS.pack(100, 0) + b"half of it")
    os.close(3)
    while True:
        pass
