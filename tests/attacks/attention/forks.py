"""Forks once, double forks, and starts a session, so that something stays when it is killed."""

import os

from honest import scaled_dot_product_attention
from targets import attempt, survive


def double_fork():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            survive()
        os._exit(0)
    return os.waitpid(pid, 0)


attempt("fork", double_fork)
attempt("vfork", lambda: os.posix_spawn("/bin/sleep", ["sleep", "5"], {}))
attempt("forkpty", os.forkpty)
attempt("setsid", os.setsid)
