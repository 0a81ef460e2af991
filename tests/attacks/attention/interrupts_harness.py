"""Sets a timer whose handler raises wherever the worker happens to be, the harness included."""

import signal

import honest

COUNT = 0


def handler(number, frame):
    global COUNT
    COUNT += 1
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    if COUNT % 7 == 0:
        raise GeneratorExit("in the middle of something")


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
scaled_dot_product_attention = honest.scaled_dot_product_attention
