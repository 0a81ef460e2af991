"""Which processor cores a grading runs on."""

from __future__ import annotations

import ctypes
import os
import socket
import sys

NAME = "attention-grader/core"
"""What the gradings of a machine call the cores they keep to, among the names without a file."""

_held: list[socket.socket] = []


def available() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_to_one() -> None:
    """Run on one core that no other grading keeps to, until this process ends.

    A grading process and its worker take turns: on two cores each turn would have to wake the other
    one, which takes longer than many a request. Where every core is kept to, and on other systems
    than Linux, nothing is changed.
    """
    if sys.platform != "linux":
        return
    here = ctypes.CDLL(None).sched_getcpu()
    # The kernel chose this core when it was idle; of the others none is better than the next.
    for core in sorted(os.sched_getaffinity(0), key=lambda core: (core < here, core)):
        hold = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # The kernel frees the name when this process ends, however it does.
            hold.bind(f"\0{NAME}/{core}")
            os.sched_setaffinity(0, {core})
        except OSError:
            hold.close()
        else:
            _held.append(hold)
            return
