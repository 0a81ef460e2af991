"""Looks for tokens in its environment and in that of every process it can see."""

import glob
import os

from honest import scaled_dot_product_attention
from targets import SECRET, attempt

print("tried", sorted(os.environ))
for path in ("/proc/self/environ", *(f"/proc/{pid}/environ" for pid in (1, os.getppid()))):
    attempt(path, lambda: open(path, "rb").read())
attempt("all", lambda: [open(path).read() for path in glob.glob("/proc/[0-9]*/environ")][0])
attempt("getenv", lambda: os.environ[SECRET])
