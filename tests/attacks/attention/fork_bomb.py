"""Forks as often as it may (at most 200 times), each child doing the same for a second."""

import os
import time

from honest import scaled_dot_product_attention
from targets import harm

print("tried")
for _ in range(200):
    try:
        pid = os.fork()
    except OSError:
        continue
    if pid == 0:
        time.sleep(1)
        os._exit(0)
    harm("forked")
    break
