"""A thread reads the requests before the harness does, and learns of later checks what it can."""

import os
import threading

import honest


def steal():
    while True:
        print("stolen", len(os.read(3, 4096)), flush=True)


threading.Thread(target=steal, daemon=True).start()
scaled_dot_product_attention = honest.scaled_dot_product_attention
