"""Recurses without a limit, in Python and through C's repr, with the limit lifted."""

import sys

sys.setrecursionlimit(10**9)


def scaled_dot_product_attention(query, key, value, mask=None):
    nested = []
    for _ in range(10**5):
        nested = [nested]
    repr(nested)
    return scaled_dot_product_attention(query, key, value, mask)
