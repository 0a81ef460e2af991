"""Has the kernel end it by an alarm, half a second after it was imported."""

import signal

signal.signal(signal.SIGALRM, signal.SIG_DFL)


def scaled_dot_product_attention(query, key, value, mask=None):
    signal.setitimer(signal.ITIMER_REAL, 0.000001)
    while True:
        pass
