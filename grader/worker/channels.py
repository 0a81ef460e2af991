"""Ways in which a worker could leave word of what it has seen for one that comes later.

Reading a page of a library brings it into the kernel's cache, where another process can see whether
it is; locks, wakes and counters are others. Each function tries one, and raises the OSError with
which it is refused. What cannot be refused is why demonstrations come before hidden checks.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import time
from collections.abc import Callable, Iterator

with contextlib.suppress(ImportError):  # nothing is tried on Windows
    import fcntl
    import resource

_PAGE_OUT = 21
_FUTEX, _FUTEX_WAKE = 202, 1
_PROCESS_CLOCK = 2
_FILE = os.__file__
"""A file that every worker may read."""


def forget_pages() -> None:
    """Have the kernel drop a file's pages from its cache, which is how to write a 0 there."""
    with open(_FILE, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fetch_pages() -> None:
    """Have the kernel fetch a file's pages, which is how to write a 1."""
    with open(_FILE, "rb") as file:
        _call("readahead", file.fileno(), ctypes.c_int64(0), ctypes.c_size_t(4096))


def page_out() -> None:
    """Have the kernel drop pages by way of a mapping."""
    with open(_FILE, "rb") as file, _mapped(file.fileno()) as (address, size):
        _call("madvise", address, size, _PAGE_OUT)


def read_if_cached() -> None:
    """Read a page only if it is in the cache."""
    with open(_FILE, "rb") as file, contextlib.suppress(BlockingIOError):
        os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)


def ask_what_is_cached() -> None:
    """Ask which pages of a mapping are in the cache."""
    with open(_FILE, "rb") as file, _mapped(file.fileno()) as (address, size):
        _call("mincore", address, size, ctypes.create_string_buffer(size.value // 4096 + 1))


def count_faults() -> None:
    """Count one's page faults, which tell those that were served from the cache."""
    resource.getrusage(resource.RUSAGE_SELF)


def look_at_the_machine() -> None:
    """See free memory, buffers and the number of processes, all of which others change."""
    _call("sysinfo", ctypes.create_string_buffer(256))


def lock_a_file() -> None:
    """Lock a file that others can read, and so find it locked."""
    with open(_FILE, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def lock_a_record() -> None:
    """Lock a byte of a file that others can read."""
    with open(_FILE, "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1)


def notice_others() -> None:
    """Be told when others read in a folder."""
    folder = os.open(os.path.dirname(_FILE), os.O_RDONLY)
    try:
        fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ATTRIB)
    finally:
        os.close(folder)


def wake_by_a_file() -> None:
    """Wake who waits at a place of a library, which is the same for all who have it loaded."""
    with open(_FILE, "rb") as file, _mapped(file.fileno()) as (address, _):
        _call("syscall", ctypes.c_long(_FUTEX), address, _FUTEX_WAKE, 1, None, None, 0)


def see_others_work() -> None:
    """Read how much processor time another process has used."""
    time.clock_gettime(~os.getppid() << 3 | _PROCESS_CLOCK)


@contextlib.contextmanager
def _mapped(descriptor: int) -> Iterator[tuple[ctypes.c_void_p, ctypes.c_size_t]]:
    size = ctypes.c_size_t(mmap.PAGESIZE)
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    address = ctypes.c_void_p(
        library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, ctypes.c_int64(0))
    )
    try:
        yield address, size
    finally:
        library.munmap(address, size)


def _call(function: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if int(getattr(library, function)(*arguments)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


TRIED: dict[str, tuple[str, Callable[[], None]]] = {
    "forget-pages": ("No page leaves the kernel's cache", forget_pages),
    "fetch-pages": ("No page is fetched ahead into the kernel's cache", fetch_pages),
    "page-out": ("No mapped page leaves the kernel's cache", page_out),
    "cached-read": ("No read tells whether its page was cached", read_if_cached),
    "cached-pages": ("Nothing says which pages are cached", ask_what_is_cached),
    "page-faults": ("No page faults are counted", count_faults),
    "machine": ("The machine's load cannot be seen", look_at_the_machine),
    "lock-file": ("No file can be locked", lock_a_file),
    "lock-record": ("No part of a file can be locked", lock_a_record),
    "notice-files": ("Nobody is told of others' files", notice_others),
    "wake-by-file": ("Nobody is woken by way of a file", wake_by_a_file),
    "clock-of-parent": ("Others' processor time cannot be seen", see_others_work),
}
"""What is promised and how it is tried, by name; seccomp alone keeps each."""
