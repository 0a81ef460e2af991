"""Aborts in a call."""

import os


def scaled_dot_product_attention(query, key, value, mask=None):
    os.abort()
