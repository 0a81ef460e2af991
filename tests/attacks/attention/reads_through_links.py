"""Makes symbolic and hard links to the hidden suite beside the submission, and reads those."""

import os

from honest import scaled_dot_product_attention
from targets import COURSE, attempt

SUITE = f"{COURSE}/tests/hidden/test_attention.py"
attempt("symlink", lambda: os.symlink(SUITE, "suite.py"))
attempt("link", lambda: os.link(SUITE, "suite2.py"))
attempt("read", lambda: open("suite.py").read())
attempt(
    "openat",
    lambda: os.open(
        "test_attention.py", os.O_RDONLY, dir_fd=os.open(f"{COURSE}/tests/hidden", os.O_PATH)
    ),
)
