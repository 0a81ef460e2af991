"""Workers that a fork server forks, and the trusted side's hold on that."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from grader.processes.launching import start_connected
from grader.wire.commands import (
    Answer,
    Command,
    Confinement,
    KillAll,
    Reap,
    Reaped,
    Spawn,
    Spawned,
)
from grader.wire.errors import SandboxError
from grader.workers.bubblewrap import Isolation, find
from grader.workers.handle import REPLIES, Worker

MOST_ENDING = 4
"""How many killed workers may be on their way out while the next one is at work."""

_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)
_encoder = msgspec.msgpack.Encoder()


class ForkServer:
    """Commands to a running fork server."""

    confines = True

    def __init__(
        self,
        control: socket.socket,
        process: subprocess.Popen[bytes] | None = None,
        *,
        staging: Path | None = None,
        replies: msgspec.msgpack.Decoder[Any] = REPLIES,
    ) -> None:
        self.staging = staging
        self._control = control
        self._replies = replies
        self._process = process
        self._ending: list[int] = []

    @classmethod
    def launch(
        cls,
        *,
        staging: Path | None = None,
        isolate: bool = False,
        program: str = "grader.forkserver",
        replies: msgspec.msgpack.Decoder[Any] = REPLIES,
    ) -> ForkServer:
        """Start a fork server in a fresh interpreter with a clean environment.

        With ``isolate`` it sees of the disk only what it runs on, and ``staging``; raises
        SandboxMissing where that cannot be had. ``program`` is the module that serves, whose
        workers answer with ``replies``.
        """
        isolation = find(staging) if isolate else Isolation(prefix=[], holds=[])
        process, control = start_connected(
            program, isolation.holds, kind=socket.SOCK_SEQPACKET, prefix=isolation.prefix
        )
        return cls(control, process, staging=staging, replies=replies)

    def spawn(self, directory: Path, confinement: Confinement) -> Worker:
        """Fork a worker for the staged files in ``directory``; raises SandboxError."""
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        cores = sorted(os.sched_getaffinity(0))
        command = Spawn(directory=str(directory), confinement=confinement, cores=cores)
        try:
            answer, descriptors = self._ask(command, [theirs.fileno(), write_end])
        except SandboxError:
            ours.close()
            os.close(read_end)
            raise
        finally:
            theirs.close()
            os.close(write_end)
        if not isinstance(answer, Spawned) or len(descriptors) != 1:
            raise SandboxError("the fork server gave an answer that makes no sense")
        while len(self._ending) > MOST_ENDING:
            self.reap(self._ending.pop(0))
        os.set_blocking(read_end, False)
        process = _Forked(self, answer.pid, descriptors[0])
        return Worker(process, ours, io.FileIO(read_end, "r"), self._replies)

    def reap(self, pid: int) -> int:
        """Wait for a killed worker and return its exit code."""
        answer, _ = self._ask(Reap(pid=pid), [])
        return os.waitstatus_to_exitcode(answer.status) if isinstance(answer, Reaped) else 0

    def reap_later(self, pid: int) -> None:
        """Reap a killed worker, whose status nobody asks for, when others have been spawned.

        It takes a process of this size a while to end, and none of that has to be waited for.
        """
        self._ending.append(pid)

    def kill_all(self) -> None:
        """Kill and reap every worker that is left."""
        self._ending.clear()
        self._ask(KillAll(), [])

    def close(self) -> None:
        """End the fork server and, with it, its workers."""
        self._control.close()
        if self._process is not None:
            self._process.wait()

    def _ask(self, command: Command, descriptors: list[int]) -> tuple[Answer, list[int]]:
        try:
            socket.send_fds(self._control, [_encoder.encode(command)], descriptors)
            message, received, _, _ = socket.recv_fds(self._control, 4096, 1)
        except OSError as error:
            raise SandboxError(f"the fork server cannot be reached: {error}") from None
        if not message:
            raise SandboxError("the fork server has ended")
        return _answers.decode(message), list(received)


class _Forked:
    """A process that a fork server has forked."""

    def __init__(self, server: ForkServer, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._server = server
        self._pidfd = pidfd

    def kill(self) -> bool:
        if self._pidfd < 0:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        os.close(self._pidfd)
        self._pidfd = -1
        return True

    def wait(self, seconds: float) -> None:
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        poller.poll(seconds * 1000)

    def reap(self) -> int:
        return self._server.reap(self.pid)

    def reap_later(self) -> None:
        self._server.reap_later(self.pid)
