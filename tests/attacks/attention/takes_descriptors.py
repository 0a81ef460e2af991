"""Opens everything it may open, and closes, duplicates and redirects what the harness uses."""

import os

from honest import scaled_dot_product_attention

OPENED = []
try:
    while len(OPENED) < 5000:
        OPENED.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
print("HARM descriptors" if len(OPENED) > 1000 else "tried", len(OPENED))
for descriptor in OPENED:
    os.close(descriptor)
