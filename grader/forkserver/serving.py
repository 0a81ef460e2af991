"""The fork server: has imported torch and nothing of value, and forks a worker on request."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from grader.confinement import prctl
from grader.confinement.confine import Prepared
from grader.execution import torch_without_dynamo
from grader.processes import huge_pages
from grader.wire.commands import Answer, Command, Done, KillAll, Reap, Reaped, Spawn, Spawned
from grader.wire.errors import SandboxError
from grader.worker import serving

MAX_COMMAND = 64 * 1024
MANY_FORKS = 4
"""After so many workers more are to be expected, and huge pages pay."""

_commands: msgspec.msgpack.Decoder[Command] = msgspec.msgpack.Decoder(Command)
_encoder = msgspec.msgpack.Encoder()


def start(live: serving.Life = serving.serve) -> tuple[int, socket.socket]:
    """Fork the fork server off this process, which should hold no secret yet.

    Its workers do what ``live`` says. Returns its process id and the socket that commands go to.
    Raises SandboxError where this process has more than one thread: a forked child of such a
    process can hang.
    """
    if len(os.listdir("/proc/self/task")) != 1:
        raise SandboxError("the fork server has to be started from a process with one thread")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    me = os.getpid()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    status = 1
    try:
        ours.close()
        serving.warm_up()
        serve(theirs, parent=me, live=live)
        status = 0
    finally:
        os._exit(status)


def serve(
    control: socket.socket,
    *,
    parent: int,
    isolation: Sequence[str] = (),
    live: serving.Life = serving.serve,
) -> None:
    """Answer commands until the other side closes; then end with every worker.

    ``isolation`` says what holds already for whatever this process does.
    """
    prctl.die_with_parent(parent)
    prctl.set_dumpable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect_standard_streams()
    prepared = Prepared(isolation)
    fork = partial(_fork_worker, control=control, prepared=prepared, live=live)
    gc.collect()
    gc.freeze()
    workers: set[int] = set()
    forked = 0
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MAX_COMMAND, 2)
        if not message:
            break
        command = _commands.decode(message)
        answer, pidfd = _answer(command, descriptors, workers, fork)
        socket.send_fds(control, [_encoder.encode(answer)], [] if pidfd is None else [pidfd])
        for descriptor in [*descriptors, *([] if pidfd is None else [pidfd])]:
            os.close(descriptor)
        if pidfd is not None:
            forked += 1
            if forked == MANY_FORKS:
                torch_without_dynamo.import_the_compiler()
                huge_pages.collapse()
    _kill_all(workers)


def _answer(
    command: Command,
    descriptors: list[int],
    workers: set[int],
    fork: Callable[[Spawn, list[int]], int],
) -> tuple[Answer, int | None]:
    match command:
        case Spawn():
            pid = fork(command, descriptors)
            workers.add(pid)
            return Spawned(pid=pid), os.pidfd_open(pid)
        case Reap():
            workers.discard(command.pid)
            return Reaped(status=_wait(command.pid)), None
        case KillAll():
            _kill_all(workers)
            return Done(), None


def _fork_worker(
    spawn: Spawn,
    descriptors: list[int],
    control: socket.socket,
    prepared: Prepared,
    live: serving.Life,
) -> int:
    me = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        control.close()
        random.seed()
        sock = socket.socket(fileno=descriptors[0])
        serving.run(sock, descriptors[1], spawn, me, prepared, live)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    finally:
        # A worker must never return into the fork server's loop, whatever was raised.
        os._exit(status)


def _wait(pid: int) -> int:
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return 0


def _kill_all(workers: set[int]) -> None:
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _wait(pid)
    workers.clear()


def _redirect_standard_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    os.close(null)


def main(live: serving.Life = serving.serve) -> None:
    """Serve as a process of its own, given its socket's descriptor and how it is isolated.

    Its workers ``live`` so.
    """
    os.environ.pop("PWD", None)  # bubblewrap's
    control = socket.socket(fileno=int(sys.argv[1]))
    serving.warm_up()
    serve(control, parent=os.getppid(), isolation=sys.argv[2:], live=live)
