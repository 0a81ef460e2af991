"""What Windows lacks, taken away from this process and from those that the grader starts in it.

Run as ``python elsewhere.py MODULE ARGUMENT...`` it runs a module so. Others' packages are imported
before: they know which system they are on.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import signal
import socket
import sys
import types

MODULES = """
    fcntl resource pwd grp termios pty tty syslog crypt posix _posixshmem pyseccomp
"""
OTHERS = """
    torch numpy pytest _pytest.tmpdir subprocess tempfile multiprocessing.context psutil
    asyncio distributed nbgrader.api nbconvert
"""
NAMES = {
    os: """
        fork forkpty setsid getsid getppid geteuid setegid seteuid setresuid setgroups getresuid
        getpgid killpg sched_getaffinity pidfd_open sysconf set_blocking chown wait wait3 wait4
        waitid WIFSIGNALED WTERMSIG O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_NONBLOCK
        O_PATH fchmod setpriority mkfifo
    """,
    signal: "SIGCHLD SIGXCPU SIGVTALRM setitimer pidfd_send_signal ITIMER_VIRTUAL",
    socket: "send_fds recv_fds SOCK_SEQPACKET",
}


def leave_linux() -> None:
    """Take it away, and have the grader start its processes as it does there."""
    for name in OTHERS.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in MODULES.split():
        sys.modules[name] = None
    # Which Windows has instead of fcntl; a file that is locked there is none here.
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *_: None)
    for module, names in NAMES.items():
        for name in names.split():
            with contextlib.suppress(AttributeError):
                delattr(module, name)
    os.supports_dir_fd.clear()
    os.environ["GRADE_START"] = "spawn"
    from grader.processes import launching

    launching.interpreter = lambda module: [sys.executable, "-I", "-X", "utf8", __file__, module]


if __name__ == "__main__":
    leave_linux()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
