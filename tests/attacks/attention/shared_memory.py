"""Keeps a store outside the file system: memfd, POSIX and System V shared memory, a queue."""

import ctypes
import os
from multiprocessing import shared_memory

from honest import scaled_dot_product_attention
from targets import TOKEN, attempt, libc

attempt("memfd", lambda: os.memfd_create("store"))
attempt("shm", lambda: shared_memory.SharedMemory(TOKEN, create=True, size=4096))
attempt("sysv", lambda: libc("shmget", 0x5EC2E7, 4096, 0o1666))
attempt("semaphore", lambda: libc("semget", 0x5EC2E7, 1, 0o1666))
attempt("queue", lambda: libc("msgget", 0x5EC2E7, 0o1666))
attempt("mq", lambda: libc("syscall", ctypes.c_long(240), b"store", 0o102, 0o666, None))
