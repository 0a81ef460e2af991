"""Layer 4: system calls filtered by seccomp; what is not on the list does not exist.

An unknown call gives ENOSYS, so that the C library falls back on an older one; a known and
dangerous one gives EPERM. Calls by another architecture's table end the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable
from typing import Any

_ALLOWED = """
    access alarm arch_prctl brk chdir clock_getres clock_gettime clock_nanosleep close
    close_range dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait
    eventfd2 exit exit_group faccessat faccessat2 fadvise64 fchdir fstat fstatfs fsync ftruncate
    futex get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups
    getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid
    getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid lseek
    lstat madvise membarrier mincore mmap mprotect mremap msync munmap nanosleep newfstatat
    pause pipe pipe2 poll ppoll pread64 preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read
    readlink readlinkat readv recvfrom restart_syscall rseq rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler sched_yield
    select sendto set_robust_list set_tid_address setitimer shutdown sigaltstack stat statfs
    statx sysinfo time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
    times umask uname wait4 waitid write writev
"""
_WRITING = ("mkdir", "mkdirat", "rename", "renameat", "renameat2", "rmdir", "unlink", "unlinkat")
"""Landlock judges these by their paths; without it, they are denied."""
_DENIED = """
    accept accept4 acct add_key bind bpf capset chmod chown chroot connect creat delete_module
    execve execveat fanotify_init fanotify_mark fchmod fchmodat fchmodat2 fchown fchownat
    finit_module fork fremovexattr fsetxattr fsopen getxattr init_module io_uring_enter
    io_uring_register io_uring_setup ioprio_set kcmp kexec_load keyctl landlock_add_rule
    landlock_create_ruleset landlock_restrict_self lchown link linkat listen lremovexattr
    lsetxattr memfd_create memfd_secret migrate_pages mknod mknodat mount mount_setattr
    move_mount move_pages mq_open mq_unlink msgctl msgget msgrcv msgsnd name_to_handle_at
    open_by_handle_at open_tree perf_event_open personality pidfd_getfd pidfd_open
    pidfd_send_signal pivot_root process_madvise process_mrelease process_vm_readv
    process_vm_writev ptrace quotactl reboot recvmmsg recvmsg removexattr request_key
    rt_sigqueueinfo rt_tgsigqueueinfo sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler seccomp semctl semget semop sendmmsg sendmsg setdomainname setfsgid
    setfsuid setgid setgroups sethostname setns setpgid setpriority setregid setresgid setresuid
    setreuid setrlimit setsid settimeofday setuid setxattr shmat shmctl shmget socket socketpair
    splice swapoff swapon symlink symlinkat sync syncfs syslog tee tkill truncate umount2
    unshare userfaultfd utime utimensat utimes vfork vhangup vmsplice
"""

_CLONE_THREAD = 0x10000
_FCNTL_HARMLESS = (0, 1, 2, 3, 5, 1030, 1032, 1034)
"""Duplicating, flags, whether there is a lock, sizes; not owner and signal, which reach others."""
_FCNTL_SET_FLAGS, _ASYNC = 4, 0x2000
_IOCTL_HARMLESS = (0x5401, 0x802C542A, 0x5413, 0x5421, 0x5450, 0x5451)
"""Is it a terminal (twice), how large is it, non-blocking, close on exec or not."""
_PRCTL_HARMLESS = (2, 3, 15, 39, 0x53564D41)
"""Reading what layer 2 has set; naming oneself and one's memory."""
_OPENS_TO_WRITE = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC if sys.platform == "linux" else 0


class Unavailable(OSError):
    """There is no seccomp here; the text says what is missing."""


class Filter:
    """The rules that every worker has, made once; a forked worker adds its own and loads them."""

    def __init__(self) -> None:
        """Raises Unavailable without libseccomp, which only an unconfined process can find."""
        self._library = library = _library()
        self._rules = library.SyscallFilter(defaction=library.ERRNO(errno.ENOSYS))
        self._rules.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
        arg, equal, masked = library.Arg, library.EQ, library.MASKED_EQ
        for name in _ALLOWED.split():
            self._allow(name)
        self._deny(_DENIED.split())
        # Reading one's own limits, not setting them.
        self._allow("prlimit64", arg(0, equal, 0), arg(2, equal, 0))
        self._allow("clone", arg(0, masked, _CLONE_THREAD, _CLONE_THREAD))
        for command in _FCNTL_HARMLESS:
            self._allow("fcntl", arg(1, equal, command))
        self._allow("fcntl", arg(1, equal, _FCNTL_SET_FLAGS), arg(2, masked, _ASYNC, 0))
        for command in _IOCTL_HARMLESS:
            self._allow("ioctl", arg(1, equal, command))
        for command in _PRCTL_HARMLESS:
            self._allow("prctl", arg(0, equal, command))

    def load(self, *, read_only: bool) -> None:
        """Filter this process's system calls from now on; raises OSError where the kernel refuses.

        With ``read_only`` no file can be opened for writing, made, renamed or removed, as far as
        that is not a matter of rights anyway.
        """
        arg, library = self._library.Arg, self._library
        for name in ("kill", "tgkill"):  # abort() and raise() are signals to oneself
            self._allow(name, arg(0, library.EQ, os.getpid()))
        for name, flags in (("open", 1), ("openat", 2)):
            only = [arg(flags, library.MASKED_EQ, _OPENS_TO_WRITE, 0)] if read_only else []
            self._allow(name, *only)
        if read_only:
            self._deny(_WRITING)
        else:
            for name in _WRITING:
                self._allow(name)
        self._rules.load()

    def _allow(self, name: str, *conditions: Any) -> None:
        # What this architecture or this libseccomp does not know stays refused.
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._rules.add_rule(self._library.ALLOW, name, *conditions)

    def _deny(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                self._rules.add_rule(self._library.ERRNO(errno.EPERM), name)


def _library() -> Any:
    if sys.platform != "linux":
        raise Unavailable("seccomp exists on Linux only")
    try:
        import pyseccomp
    except ImportError:
        raise Unavailable("the package pyseccomp is not installed") from None
    except (RuntimeError, OSError, AttributeError):
        raise Unavailable("libseccomp.so.2 is not installed") from None
    return pyseccomp
