"""Raises from half a million frames deep, with a cause that causes itself and huge notes."""

import sys

sys.setrecursionlimit(100_000)


def down(depth):
    if depth:
        try:
            down(depth - 1)
        except ValueError as error:
            error.add_note("note " * 1_000)
            raise
    raise ValueError("x" * 10_000_000)


def scaled_dot_product_attention(query, key, value, mask=None):
    down(900)
