"""Uses the kernel's other doors: io_uring, bpf, perf, keyrings, userfaultfd, new namespaces."""

import ctypes

from honest import scaled_dot_product_attention
from targets import attempt, libc

BUFFER = ctypes.create_string_buffer(256)
for number in (425, 321, 298, 248, 250, 323, 272, 308, 165, 155, 161, 169, 175, 246, 428, 430):
    attempt(f"call {number}", lambda: libc("syscall", ctypes.c_long(number), 0, BUFFER, 0, 0, 0, 0))
