"""Runs code when its process ends or when an object dies, long after the call."""

import atexit
import gc
import os
import weakref

import honest

atexit.register(lambda: print("HARM at exit"))


class Dies:
    def __del__(self):
        print("tried")
        gc.collect()
        raise SystemExit("dying")


def scaled_dot_product_attention(query, key, value, mask=None):
    gc.collect(0)  # what the last call left
    dying = Dies()
    weakref.finalize(dying, os.fsync, 1)
    dying.itself = dying
    return honest.scaled_dot_product_attention(query, key, value, mask)
