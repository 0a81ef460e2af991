"""Layer 2: what a process can ask the kernel to deny it, through ``prctl``."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1
_SET_DUMPABLE = 4
_SET_NO_NEW_PRIVS = 38


def supported() -> bool:
    """Whether this layer exists here: on Linux only."""
    return sys.platform == "linux"


def deny_new_privileges() -> None:
    """No program that this process starts can gain rights, by setuid or otherwise."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def set_dumpable(value: bool) -> None:
    """While not dumpable, others of the same user cannot trace this process or read its memory."""
    _prctl(_SET_DUMPABLE, int(value))


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends. Cleared by fork and by a change of user: set it last."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the request was made
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(n) for n in (option, value, 0, 0, 0)]
    if libc.prctl(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
