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
    access alarm arch_prctl brk chdir close close_range dup dup2 dup3 epoll_create epoll_create1
    epoll_ctl epoll_pwait epoll_wait eventfd2 exit exit_group faccessat faccessat2 fchdir fstat
    fsync ftruncate getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer
    getpeername getpgrp getpid getppid getrandom getresgid getresuid getrlimit getsockname
    getsockopt gettid gettimeofday getuid lseek lstat membarrier mmap mprotect mremap msync
    munmap nanosleep newfstatat pause pipe pipe2 poll ppoll pread64 preadv pselect6 pwrite64
    pwritev read readlink readlinkat readv recvfrom restart_syscall rseq rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_yield select sendto
    set_robust_list set_tid_address setitimer shutdown sigaltstack stat statx time timer_delete
    timer_getoverrun timer_gettime timer_settime times umask uname wait4 waitid write writev
"""
_WRITING = ("mkdir", "mkdirat", "rename", "renameat", "renameat2", "rmdir", "unlink", "unlinkat")
"""Landlock judges these by their paths; without it, they are denied."""
_DENIED = """
    accept accept4 acct add_key bind bpf cachestat capset chmod chown chroot connect
    copy_file_range creat delete_module execve execveat fadvise64 fanotify_init fanotify_mark
    fchmod fchmodat fchmodat2 fchown fchownat finit_module flock fork fremovexattr fsetxattr
    fsopen fstatfs get_robust_list getrusage getxattr init_module inotify_add_watch inotify_init
    inotify_init1 io_setup io_submit io_uring_enter io_uring_register io_uring_setup ioprio_get
    ioprio_set kcmp kexec_load keyctl landlock_add_rule landlock_create_ruleset
    landlock_restrict_self lchown link linkat listen lremovexattr lsetxattr memfd_create
    memfd_secret migrate_pages mincore mknod mknodat mlock mlock2 mlockall mount mount_setattr
    move_mount move_pages mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget
    msgrcv msgsnd name_to_handle_at open_by_handle_at open_tree perf_event_open personality
    pidfd_getfd pidfd_open pidfd_send_signal pivot_root preadv2 process_madvise process_mrelease
    process_vm_readv process_vm_writev ptrace pwritev2 quotactl readahead reboot recvmmsg
    recvmsg remap_file_pages removexattr request_key rt_sigqueueinfo rt_tgsigqueueinfo
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler seccomp semctl semget
    semop semtimedop sendfile sendmmsg sendmsg setdomainname setfsgid setfsuid setgid setgroups
    sethostname setns setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid
    settimeofday setuid setxattr shmat shmctl shmget socket socketpair splice statfs swapoff
    swapon symlink symlinkat sync sync_file_range syncfs sysinfo syslog tee tkill truncate
    umount2 unshare userfaultfd utime utimensat utimes vfork vhangup vmsplice
"""

_CLONE_THREAD = 0x10000
_FCNTL_HARMLESS = (0, 1, 2, 3, 1030, 1032, 1034)
"""Duplicating, flags, sizes; not owner, signal, locks, leases and notices, which reach others."""
_FCNTL_SET_FLAGS, _ASYNC = 4, 0x2000
_IOCTL_HARMLESS = (0x5401, 0x802C542A, 0x5413, 0x5421, 0x5450, 0x5451)
"""Is it a terminal (twice), how large is it, non-blocking, close on exec or not."""
_PRCTL_HARMLESS = (2, 3, 15, 39, 0x53564D41)
"""Reading what layer 2 has set; naming oneself and one's memory."""
_MADVISE_OWN = (4, 8, 14, 15, 18)
"""Giving memory back, huge pages or not, wiping it in a fork: what allocators ask for. None of it
reaches the pages of a file that the kernel keeps for everybody."""
_FUTEX_PRIVATE = 0x80
_FUTEX_WAITS, _FUTEX_COMMAND = (0, 9), 0x7F
"""Waiting without a time and with one: a thread's end is waited for in the place of all processes.
Waking there would reach others."""
_OTHERS_CLOCK = 0x80000000
"""A clock's number is negative where it is that of another process."""
_OF_ONESELF = {"getpgid": 0, "getsid": 0, "sched_getparam": 0, "sched_getscheduler": 0}
"""Calls that ask about a process, by the place of its number: 0 is one's own."""
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
        for advice in _MADVISE_OWN:
            self._allow("madvise", arg(2, equal, advice))
        self._allow("futex", arg(1, masked, _FUTEX_PRIVATE, _FUTEX_PRIVATE))
        for command in _FUTEX_WAITS:
            self._allow("futex", arg(1, masked, _FUTEX_COMMAND, command))
        for name in ("clock_getres", "clock_gettime", "clock_nanosleep", "timer_create"):
            self._allow(name, arg(0, masked, _OTHERS_CLOCK, 0))
        for name, place in _OF_ONESELF.items():
            self._allow(name, arg(place, equal, 0))
        self._allow("getpriority", arg(0, equal, 0), arg(1, equal, 0))
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
