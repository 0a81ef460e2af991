"""Ends the fork server, the session and everything else that it may signal."""

import os
import signal

from honest import scaled_dot_product_attention
from targets import attempt, libc

for pid in (os.getppid(), os.getppid() - 1, 1, 0, -1, -os.getppid()):
    attempt(f"kill {pid}", lambda: os.kill(pid, signal.SIGTERM))
attempt("killpg", lambda: os.killpg(os.getpgid(os.getppid()), signal.SIGTERM))
attempt("tgkill", lambda: libc("syscall", 234, os.getppid(), os.getppid(), 15))
attempt("tkill", lambda: libc("syscall", 200, os.getppid(), 15))
attempt("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGTERM))
attempt("queue", lambda: libc("syscall", 129, os.getppid(), 15, bytes(128)))
