"""Writes into its own folder, so that the next worker finds what this one saw."""

import os

from honest import scaled_dot_product_attention
from targets import TOKEN, attempt

for path in (
    "state",
    "honest.py",
    __file__,
    f"/tmp/{TOKEN}",
    f"/dev/shm/{TOKEN}",
    f"/var/tmp/{TOKEN}",
):
    attempt(path, lambda: open(path, "w").write("seen"))
attempt("mkdir", lambda: os.mkdir(f"/tmp/{TOKEN}"))
attempt("chmod", lambda: os.chmod(".", 0o777))
