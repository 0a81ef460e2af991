"""Reads what the kernel tells of this process and its parents: maps, memory, descriptors."""

import os

from honest import scaled_dot_product_attention
from targets import attempt

for pid in ("self", os.getppid(), 1):
    for name in ("cmdline", "maps", "mem", "cgroup", "status", "root", "cwd", "mountinfo"):
        attempt(f"{pid}/{name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(100))
    attempt(f"{pid}/fd", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"{pid}/root", lambda: os.listdir(f"/proc/{pid}/root"))
attempt("kernel", lambda: open("/proc/sys/kernel/core_pattern").read())
