"""Memory in huge pages: forks of a process with torch take two thirds or less with them.

See benchmarks/forking.py.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator

_HUGE = 2 * 1024 * 1024
_MADV_COLLAPSE = 25


def collapse() -> None:
    """Have this process's own memory in huge pages, as far as the kernel does that.

    Linux does from 6.1 on; elsewhere nothing happens. It takes a copy of all that memory, so it is
    for a process that will be forked more than a few times.
    """
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, end in list(_own_memory()):
        for page in range(-(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE, _HUGE):
            madvise(page, _HUGE, _MADV_COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """From where to where this process has memory that it can write, and that is of no file."""
    with open("/proc/self/maps", encoding="utf-8") as listing:
        for line in listing:
            span, rights, _, _, inode, *_ = line.split()
            if rights == "rw-p" and inode == "0":
                start, end = (int(number, 16) for number in span.split("-"))
                yield start, end
