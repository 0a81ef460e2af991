"""Starts as many threads as it may, all busy until the process ends."""

import threading
import time

from honest import scaled_dot_product_attention


def spin():
    while True:
        time.sleep(0.01)


STARTED = []
try:
    for _ in range(2000):
        STARTED.append(threading.Thread(target=spin, daemon=True))
        STARTED[-1].start()
except (RuntimeError, MemoryError):
    pass
print("tried", len(STARTED))
