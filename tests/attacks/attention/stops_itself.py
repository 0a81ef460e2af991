"""Stops its process, which then neither answers nor ends."""

import os
import signal


def scaled_dot_product_attention(query, key, value, mask=None):
    os.kill(os.getpid(), signal.SIGSTOP)
