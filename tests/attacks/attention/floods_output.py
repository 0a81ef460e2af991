"""Prints megabytes at every call, to both streams, and blocks the pipe's other end if it can."""

import os
import sys

import honest


def scaled_dot_product_attention(query, key, value, mask=None):
    print("tried", "x" * 300_000)
    sys.stderr.write("\N{PILE OF POO}" * 50_000)
    os.write(1, b"\x00\xff\x1b" * 100_000)
    return honest.scaled_dot_product_attention(query, key, value, mask)
