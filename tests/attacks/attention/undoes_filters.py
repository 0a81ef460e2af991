"""Tries to take its confinement off: new rulesets, another filter, privileges, dumpability."""

import ctypes
import os

from honest import scaled_dot_product_attention
from targets import attempt, libc

NULL = ctypes.c_void_p(0)
attempt("landlock", lambda: libc("syscall", ctypes.c_long(444), NULL, ctypes.c_size_t(0), 1))
attempt("restrict", lambda: libc("syscall", ctypes.c_long(446), 3, 0))
attempt("seccomp", lambda: libc("syscall", ctypes.c_long(317), 1, 0, NULL))
attempt("filter", lambda: libc("prctl", 22, 2, NULL, 0, 0))
attempt("dumpable", lambda: libc("prctl", 4, 1, 0, 0, 0))
attempt("privileges", lambda: libc("prctl", 38, 0, 0, 0, 0))
attempt("parent death", lambda: libc("prctl", 1, 0, 0, 0, 0))
attempt("root", lambda: os.setuid(0))
attempt("groups", lambda: os.setgroups([0]))
attempt("chroot", lambda: os.chroot("/"))
attempt(
    "capabilities",
    lambda: libc("capset", ctypes.create_string_buffer(8), ctypes.create_string_buffer(24)),
)
