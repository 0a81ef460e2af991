"""Leaves signs for another worker: locks, leases, wakes, counters that both can see."""

import ctypes
import fcntl
import os
import resource
import time

from honest import scaled_dot_product_attention
from targets import attempt, libc

LIBRARY = os.open(os.__file__, os.O_RDONLY)
FOLDER = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
PARENT = os.getppid()


def wake():
    # The code of the C library, at one place of one file for whoever has it loaded.
    code = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value & -4
    return libc("syscall", 202, ctypes.c_void_p(code), 1, 1, 0, 0, 0)


attempt("lock", lambda: fcntl.flock(LIBRARY, fcntl.LOCK_SH))
attempt("lock a part", lambda: fcntl.lockf(LIBRARY, fcntl.LOCK_SH, 1))
attempt("lock openly", lambda: fcntl.fcntl(LIBRARY, 37, bytes(32)))
attempt("lease", lambda: fcntl.fcntl(LIBRARY, fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("notice", lambda: fcntl.fcntl(FOLDER, fcntl.F_NOTIFY, fcntl.DN_ATTRIB))
attempt("watch", lambda: libc("inotify_init"))
attempt("wake", wake)
attempt("count faults", lambda: resource.getrusage(resource.RUSAGE_SELF))
attempt("weigh the machine", lambda: os.statvfs("/"))
attempt("measure its load", lambda: libc("sysinfo", ctypes.create_string_buffer(256)))
attempt("clock", lambda: time.clock_gettime(~PARENT << 3 | 2))
attempt("priority", lambda: os.getpriority(os.PRIO_PROCESS, PARENT))
attempt("session", lambda: os.getsid(PARENT))
attempt("schedule", lambda: os.sched_getscheduler(PARENT))
attempt("queue", lambda: libc("msgget", 1, 0o1666))
attempt("share", lambda: libc("shmget", 1, 4096, 0o1666))
attempt("key", lambda: libc("syscall", 248, b"user\0", b"k\0", b"v", 1, -3))
attempt("name", lambda: libc("syscall", 319, b"m\0", 0))
