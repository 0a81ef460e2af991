"""Reads and spoils another submission of the same batch, in the batch and where it is staged."""

import glob
import os

from honest import scaled_dot_product_attention
from targets import NEIGHBOUR, attempt

attempt("read", lambda: open(NEIGHBOUR).read())
attempt("write", lambda: open(NEIGHBOUR, "a").write("\nraise SystemExit\n"))
attempt("truncate", lambda: os.truncate(NEIGHBOUR, 0))
attempt("staged", lambda: [path for path in glob.glob("/tmp/grader-*/*/staged/*")][0])
