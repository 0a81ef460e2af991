"""Closes its streams, replaces them by objects that raise, and closes descriptors 0 to 2."""

import os
import sys

import honest


class Bad:
    def write(self, text):
        raise KeyboardInterrupt

    flush = fileno = close = write


def scaled_dot_product_attention(query, key, value, mask=None):
    for descriptor in (0, 1, 2):
        try:
            os.close(descriptor)
        except OSError:
            pass
    sys.stdout = sys.stderr = sys.__stdout__ = Bad()
    return honest.scaled_dot_product_attention(query, key, value, mask)
