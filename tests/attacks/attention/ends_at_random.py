"""Ends its worker at every second call, so that checks need fresh ones without end."""

import os

import honest

COUNT = 0


def scaled_dot_product_attention(query, key, value, mask=None):
    global COUNT
    COUNT += 1
    if COUNT % 2 == 0:
        os._exit(COUNT % 256)
    return honest.scaled_dot_product_attention(query, key, value, mask)
