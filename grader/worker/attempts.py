"""What a hostile submission would try, tried by a worker itself: each attempt has to be refused.

One place says what is promised, how it is tried, and which layers each keep the promise alone: a
test switches them off and sees the attempt succeed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import socket
import sys
from collections.abc import Callable

import msgspec

from grader.wire.commands import Layer, Targets, Tried
from grader.worker import channels

with contextlib.suppress(ImportError):  # nothing is tried on Windows
    import fcntl
    import resource

_REFUSALS = {
    errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOMEM, errno.EMFILE, errno.EAGAIN,
}  # fmt: skip
_GET_PARENT_DEATH_SIGNAL, _GET_DUMPABLE, _GET_NO_NEW_PRIVS = 2, 3, 39
_TRUSTED = ("grader.course", "grader.diagnosis", "grader.suite", "_pytest")
_IO_URING_SETUP = 425
_PTRACE_SEIZE = 0x4206
_NEW_USER_NAMESPACE = 0x10000000


class Succeeded(Exception):
    """An attempt that ought to have been refused was not; the text says what was seen."""


class Probe(msgspec.Struct, frozen=True):
    """One attempt: ``attempt`` raises the OSError with which it was refused."""

    promise: str
    layers: tuple[Layer, ...]
    """Each of these alone keeps the promise; none for what the split into processes keeps."""
    attempt: Callable[[Targets], object]
    only_root: bool = False
    """Whether an ordinary user is refused even without these layers."""


def try_all(targets: Targets) -> list[Tried]:
    """Try everything in this process."""
    probes = PROBES | ISOLATED if targets.isolated else PROBES
    return [_try(name, probe, targets) for name, probe in probes.items()]


def promise(name: str) -> str:
    """What the attempt of this name would break."""
    return (PROBES | ISOLATED)[name].promise


def _try(name: str, probe: Probe, targets: Targets) -> Tried:
    try:
        probe.attempt(targets)
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "")
        hidden = targets.isolated and error.errno == errno.ENOENT
        return Tried(name=name, held=hidden or error.errno in _REFUSALS, seen=code)
    except Succeeded as success:
        return Tried(name=name, held=False, seen=str(success))
    except Exception as error:
        return Tried(name=name, held=False, seen=f"{type(error).__name__}: {error}")
    return Tried(name=name, held=False, seen="it succeeded")


def _libc(function: str, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result = int(getattr(library, function)(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _read(targets: Targets) -> None:
    with open(targets.file, "rb") as file:
        file.read(1)


def _write(targets: Targets) -> None:
    with open(os.path.join(targets.folder, f"written-{os.getpid()}"), "xb") as file:
        file.write(b"x")


def _open_and_empty(targets: Targets) -> None:
    os.close(os.open(targets.file, os.O_RDONLY | os.O_TRUNC))


def _read_memory_as_file(targets: Targets) -> None:
    os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY))


def _read_memory(targets: Targets) -> None:
    secret, copy = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)

    def vector(buffer: ctypes.Array[ctypes.c_char]) -> object:
        return (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)

    try:
        _libc("process_vm_readv", os.getppid(), vector(copy), 1, vector(secret), 1, 0)
    except OSError as error:
        # Nothing need lie at this address in the other process; that it was looked for is enough.
        if error.errno != errno.EFAULT:
            raise


def _trace(targets: Targets) -> None:
    pointer = ctypes.c_void_p(0)
    _libc("ptrace", ctypes.c_long(_PTRACE_SEIZE), os.getppid(), pointer, pointer)


def _connect(targets: Targets) -> None:
    with socket.socket() as sock:
        sock.settimeout(5)
        sock.connect(("127.0.0.1", targets.port))


def _datagram(targets: Targets) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", targets.port))


def _own_signals(targets: Targets) -> None:
    reading, writing = os.pipe()
    try:
        fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())
    finally:
        os.close(reading)
        os.close(writing)


def _limit_parent(targets: Targets) -> None:
    held = resource.prlimit(os.getppid(), resource.RLIMIT_CORE)
    resource.prlimit(os.getppid(), resource.RLIMIT_CORE, held)


def _renice_parent(targets: Targets) -> None:
    os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, 0))


def _fork(targets: Targets) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _raise_limits(targets: Targets) -> None:
    held, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (held, hard + 1))
    except ValueError as error:  # which is what Python makes of EPERM
        raise OSError(errno.EPERM, str(error)) from None
    resource.setrlimit(resource.RLIMIT_NOFILE, (held, hard))


def _set_limits(targets: Targets) -> None:
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE):
        if resource.getrlimit(kind)[1] == resource.RLIM_INFINITY:
            raise Succeeded("there is no limit")
    raise OSError(errno.EPERM, "there are limits")


def _take_memory(targets: Targets) -> None:
    mmap.mmap(-1, targets.memory_bytes + (64 << 20)).close()


def _open_many(targets: Targets) -> None:
    opened: list[int] = []
    try:
        for _ in range(targets.open_files + 1):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _gain_privileges(targets: Targets) -> None:
    if _libc("prctl", _GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1:
        raise OSError(errno.EPERM, "none can be gained")


def _be_dumped(targets: Targets) -> None:
    if _libc("prctl", _GET_DUMPABLE, 0, 0, 0, 0) == 0:
        raise OSError(errno.EPERM, "its memory is closed")


def _survive(targets: Targets) -> None:
    number = ctypes.c_int()
    _libc("prctl", _GET_PARENT_DEATH_SIGNAL, ctypes.byref(number), 0, 0, 0)
    if number.value == 9:
        raise OSError(errno.EPERM, "it will be killed")


def _environment(targets: Targets) -> None:
    if not set(os.environ) - set(targets.environment):
        raise OSError(errno.EACCES, "there is none")


def _descriptors(targets: Targets) -> None:
    for number in range(4, 256):
        try:
            os.fstat(number)
        except OSError:
            continue
        raise Succeeded(f"descriptor {number} is open")
    raise OSError(errno.EACCES, "there is none")


def _suites(targets: Targets) -> None:
    for name in sys.modules:
        if name.startswith(_TRUSTED):
            raise Succeeded(f"{name} is loaded")
    raise OSError(errno.EACCES, "there is none")


def _io_uring(targets: Targets) -> None:
    parameters = ctypes.create_string_buffer(256)
    os.close(_libc("syscall", ctypes.c_long(_IO_URING_SETUP), ctypes.c_uint(1), parameters))


def _alone(attempt: Callable[[], None]) -> Callable[[Targets], None]:
    """An attempt that needs to be told nothing."""
    return lambda _: attempt()


PROBES: dict[str, Probe] = {
    "environment": Probe("None of your environment is visible", (), _environment),
    "descriptors": Probe("No file of the grader's is open", (), _descriptors),
    "suites": Probe("Nothing that reads suites was ever loaded", (), _suites),
    "read-file": Probe("No file outside can be read", ("landlock",), _read),
    "list-folder": Probe(
        "No folder outside can be listed", ("landlock",), lambda targets: os.listdir(targets.folder)
    ),
    "write-file": Probe("No file can be written", ("landlock",), _write),
    "truncate-file": Probe(
        "No file can be emptied",
        ("landlock", "seccomp"),
        lambda targets: os.truncate(targets.file, 0),
    ),
    "open-truncating": Probe("No file is emptied by opening it", ("landlock",), _open_and_empty),
    "tcp": Probe("No connection can be made", ("landlock", "seccomp"), _connect),
    "udp": Probe("No packet can be sent", ("seccomp",), _datagram),
    "unix-socket": Probe(
        "No socket can be made", ("seccomp",), lambda _: socket.socketpair()[0].close()
    ),
    "io-uring": Probe(
        "Nothing goes past the filter in a ring", ("seccomp",), _io_uring, only_root=True
    ),
    "signal": Probe(
        "The fork server cannot be signalled",
        ("landlock", "seccomp"),
        lambda _: os.kill(os.getppid(), 0),
    ),
    "signal-by-fcntl": Probe(
        "The fork server cannot be signalled by way of a file", ("seccomp",), _own_signals
    ),
    "memory-of-parent": Probe(
        "The fork server's memory cannot be read", ("landlock", "seccomp"), _read_memory, True
    ),
    "memory-file-of-parent": Probe(
        "The fork server's memory cannot be opened as a file",
        ("landlock",),
        _read_memory_as_file,
        only_root=True,
    ),
    "trace": Probe("The fork server cannot be traced", ("landlock", "seccomp"), _trace, True),
    "limit-parent": Probe("The fork server's limits cannot be set", ("seccomp",), _limit_parent),
    "renice-parent": Probe(
        "The fork server's priority cannot be set", ("seccomp",), _renice_parent
    ),
    "fork": Probe("No process can be started", ("seccomp",), _fork),
    "exec": Probe(
        "No program can be run",
        ("landlock", "seccomp"),
        lambda targets: os.execv(targets.program, ["program"]),
    ),
    "raise-limits": Probe("No limit can be raised", ("seccomp",), _raise_limits, only_root=True),
    **{
        name: Probe(promise, ("seccomp",), _alone(attempt))
        for name, (promise, attempt) in channels.TRIED.items()
    },
    "limits": Probe("Processor time and size of files are limited", ("limits",), _set_limits),
    "memory": Probe("Memory is limited", ("limits",), _take_memory),
    "open-files": Probe("Open files are limited", ("limits",), _open_many),
    "privileges": Probe("No privileges can be gained", ("privileges", "seccomp"), _gain_privileges),
    "dumpable": Probe("A worker's memory is closed to others", ("memory",), _be_dumped),
    "survive": Probe("No worker outlives the fork server", ("parent",), _survive),
    # The last one: in a namespace of one's own, other attempts would fail.
    "namespace": Probe(
        "No namespace can be made",
        ("seccomp",),
        lambda _: _libc("unshare", _NEW_USER_NAMESPACE),
    ),
}

ISOLATED: dict[str, Probe] = {
    "existence": Probe(
        "No file outside can be seen to exist", (), lambda targets: os.stat(targets.file)
    ),
}
"""What bubblewrap adds, where it was asked for."""
