"""Traces the fork server, reads its memory, and steals its descriptors."""

import ctypes
import os

from honest import scaled_dot_product_attention
from targets import attempt, libc

PARENT = os.getppid()
NULL = ctypes.c_void_p(0)
attempt("attach", lambda: libc("ptrace", ctypes.c_long(16), PARENT, NULL, NULL))
attempt("seize", lambda: libc("ptrace", ctypes.c_long(0x4206), PARENT, NULL, NULL))
attempt("traceme", lambda: libc("ptrace", ctypes.c_long(0), 0, NULL, NULL))
attempt("readv", lambda: libc("process_vm_readv", PARENT, NULL, 0, NULL, 0, 0))
attempt("writev", lambda: libc("process_vm_writev", PARENT, NULL, 0, NULL, 0, 0))
attempt("getfd", lambda: libc("syscall", 438, os.pidfd_open(PARENT), 3, 0))
attempt("kcmp", lambda: libc("syscall", 312, PARENT, os.getpid(), 0, 3, 3))
attempt("mem", lambda: open(f"/proc/{PARENT}/mem", "r+b"))
