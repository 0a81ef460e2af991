"""Layer 2 where root runs the grader: a worker becomes a user of its own, or at least powerless."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Iterator

FIRST, COUNT = 61_184, 4_336
"""Numbers that systemd keeps for users made for one service: no account has them."""
MOST_THREADS = 64
"""Of one such user, and so of one worker."""

_CAPABILITY_VERSION = 0x20080522
_READ_ANYTHING = 1 << 2
"""Root's own packages may lie where only this lets it read them; Landlock says what that is."""


def is_root() -> bool:
    """Whether workers could become somebody else."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def first_unreadable(code: Iterable[str]) -> str:
    """The first of these files, folders and their entries that an unprivileged user cannot read.

    Empty if there is none. It is tried, in a child that becomes one.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            _become(FIRST)
            os.write(writing, next(_unreadable(code), "").encode()[:4000])
        except OSError as error:
            os.write(writing, f"its number ({error.strerror})".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    return said.decode("utf-8", "backslashreplace")


def drop(directory: str) -> None:
    """Become a user that nobody else is, for good; raises OSError if that could not be.

    ``directory`` has to stay readable, or nothing is changed. Clears the parent-death signal.
    """
    import resource

    number = FIRST + os.getpid() % COUNT
    os.setegid(number)
    os.seteuid(number)
    try:
        unreadable = next(_unreadable([directory]), None)
    finally:
        os.seteuid(0)
        os.setegid(0)
    if unreadable is not None:
        raise PermissionError("the staged files are in a folder that is root's alone")
    resource.setrlimit(resource.RLIMIT_NPROC, (MOST_THREADS, MOST_THREADS))
    _become(number)


def give_up_capabilities() -> None:
    """Keep of root's powers only that to read; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = ctypes.create_string_buffer(struct.pack("<Ii", _CAPABILITY_VERSION, 0), 8)
    # Effective, permitted and inheritable, once for the lower and once for the upper half.
    held = ctypes.create_string_buffer(24)
    if libc.capget(header, held) == 0:
        effective, permitted, *_ = struct.unpack("<6I", held.raw)
        kept = (effective & _READ_ANYTHING, permitted & _READ_ANYTHING)
        fewer = struct.pack("<6I", *kept, 0, 0, 0, 0)
        if libc.capset(header, ctypes.create_string_buffer(fewer, 24)) == 0:
            return
    error = ctypes.get_errno()
    raise OSError(error, os.strerror(error))


def _become(number: int) -> None:
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def _unreadable(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        entries = []
        if _is_readable(path) and os.path.isdir(path):
            entries = [os.path.join(path, name) for name in os.listdir(path)]
        yield from (one for one in (path, *entries) if not _is_readable(one))


def _is_readable(path: str) -> bool:
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:  # nobody will miss it, then
        return True
    except OSError:
        return False
    return os.access(path, os.R_OK | (os.X_OK if is_folder else 0), effective_ids=True)
