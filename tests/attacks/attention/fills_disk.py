"""Writes without end to wherever a file can be made, and to unlinked temporary files."""

import os
import tempfile

from honest import scaled_dot_product_attention
from targets import FOLDER, attempt

attempt("file", lambda: open(f"{FOLDER}/big", "wb").write(bytes(8 << 20)))
attempt("temporary", lambda: tempfile.TemporaryFile().write(bytes(8 << 20)))
attempt("tmpfile", lambda: os.open("/tmp", os.O_TMPFILE | os.O_WRONLY))
attempt("allocate", lambda: os.posix_fallocate(os.open("/dev/null", os.O_WRONLY), 0, 1 << 20))
