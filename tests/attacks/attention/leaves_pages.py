"""Leaves word for a later worker in the kernel's cache of files, and looks for what others left."""

import ctypes
import mmap
import os

from honest import scaled_dot_product_attention
from targets import attempt, libc

PAGE = 4096
LIBRARY = os.open(os.__file__, os.O_RDONLY)
MAPPED = mmap.mmap(LIBRARY, PAGE, mmap.MAP_PRIVATE, mmap.PROT_READ)


def listing(size=PAGE):
    there = ctypes.create_string_buffer(size // PAGE)
    libc("syscall", 27, ctypes.c_void_p(id(MAPPED) & -PAGE), ctypes.c_size_t(PAGE), there)
    return list(there.raw)


attempt("forget", lambda: os.posix_fadvise(LIBRARY, 0, 0, os.POSIX_FADV_DONTNEED))
attempt("announce", lambda: os.posix_fadvise(LIBRARY, 0, 0, os.POSIX_FADV_WILLNEED))
attempt("fetch", lambda: libc("readahead", LIBRARY, 0, PAGE))
attempt("look", lambda: os.preadv(LIBRARY, [bytearray(1)], 0, os.RWF_NOWAIT))
attempt("list", listing)
attempt("advise", lambda: MAPPED.madvise(mmap.MADV_WILLNEED))
attempt("drop", lambda: MAPPED.madvise(21))
attempt("statistics", lambda: libc("syscall", 451, LIBRARY, 0, 0, 0))
attempt("flush", lambda: libc("sync_file_range", LIBRARY, 0, PAGE, 7))
attempt("copy", lambda: os.sendfile(LIBRARY, LIBRARY, 0, 1))
attempt("pin", lambda: libc("mlock", ctypes.c_void_p(id(MAPPED) & -PAGE), PAGE))
