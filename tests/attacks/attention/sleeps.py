"""Sleeps past the limit in calls with a mask, with every signal ignored."""

import signal
import time

import honest

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def scaled_dot_product_attention(query, key, value, mask=None):
    if mask is not None:
        time.sleep(3600)
    return honest.scaled_dot_product_attention(query, key, value)
