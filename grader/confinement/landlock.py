"""Layer 3: files, TCP and signals closed to a worker by Landlock, as far as the kernel has it.

It calls the kernel itself: the numbers of these system calls are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from functools import cache

TRUNCATION_ABI = 3
"""From here on a file that may not be written cannot be emptied either."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 2, 4, 8
_FIRST_RIGHTS = (1 << 13) - 1
_LATER_RIGHTS = ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
"""The ABI from which a right exists: to refer, to truncate, to control devices."""
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


def abi() -> int:
    """The version of Landlock that this kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    version = _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, version)


def restrict(
    readable: Iterable[str], *, listable: Iterable[str] = (), writable: Iterable[str] = ()
) -> int:
    """Close every file to this process but those at and below ``readable``, which it may read.

    Below ``listable`` it may see names only; ``writable`` are single files it may also write.
    Returns the ABI that it holds by: from 4 TCP is closed too, from 6 signals and abstract sockets.
    Raises OSError where the kernel has no Landlock or refuses.
    """
    version = abi()
    if version < 1:
        raise OSError("this kernel has no Landlock, or has it switched off")
    rights = _FIRST_RIGHTS
    for since, right in _LATER_RIGHTS:
        rights |= right if version >= since else 0
    network = _BIND_AND_CONNECT_TCP if version >= 4 else 0
    scope = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("<QQQ", rights, network, scope)
    ruleset = _checked(
        _CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE, _READ_DIR)
        for path in listable:
            _allow(ruleset, path, 0, _READ_DIR)
        for path in writable:
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE, 0)
        _checked(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int, folder_rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what cannot be reached needs no rule
    try:
        # The kernel refuses rights of folders for a file.
        rights |= folder_rights if os.path.isdir(path) else 0
        if rights:
            rule = ctypes.c_char_p(struct.pack("<Qi", rights, descriptor))
            number, kind = ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH)
            _checked(_ADD_RULE, number, kind, rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def _checked(number: int, *arguments: object) -> int:
    result = _syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _syscall(number: int, *arguments: object) -> int:
    return int(_libc().syscall(ctypes.c_long(number), *arguments))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
