"""Has signals sent to its parent by descriptors: F_SETOWN, F_SETSIG and O_ASYNC on a pipe."""

import fcntl
import os
import signal

from honest import scaled_dot_product_attention
from targets import attempt

READING, WRITING = os.pipe()
for descriptor in (READING, 3, 1):
    attempt("owner", lambda: fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getppid()))
    attempt("signal", lambda: fcntl.fcntl(descriptor, 10, signal.SIGTERM))
    attempt("async", lambda: fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.FASYNC))
    attempt("ioctl", lambda: fcntl.ioctl(descriptor, 0x8901, b"\x01\x00\x00\x00"))
    attempt("lease", lambda: fcntl.fcntl(descriptor, 1024, fcntl.F_WRLCK))
os.write(WRITING, b"x")
