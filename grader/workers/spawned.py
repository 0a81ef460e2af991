"""Workers where none is forked: each a fresh interpreter, which the kernel does not confine.

One takes as long to start as torch to import, so that one more than is needed is always under way.
"""

from __future__ import annotations

import contextlib
import io
import socket
import subprocess
import threading
from pathlib import Path
from typing import IO

from grader.processes.launching import SpawnedProcess
from grader.wire import frames
from grader.wire.commands import Confinement, Spawn
from grader.wire.errors import SandboxError, SandboxMissing
from grader.workers.handle import Worker

MODULE = "grader.worker"
START_SECONDS = 180.0
"""For an import of torch from a cold disk, on a machine with other things to do."""


class SpawnServer:
    """Spawns workers."""

    confines = False

    def __init__(self, *, staging: Path | None = None) -> None:
        self.staging = staging
        self._given: list[_Spawned] = []
        self._spare = _Spawned()

    @classmethod
    def launch(cls, *, staging: Path | None = None, isolate: bool = False) -> SpawnServer:
        """Start the first worker; raises SandboxMissing if it is to be isolated."""
        if isolate:
            raise SandboxMissing(
                "--isolate is not possible on this system. Grade on Linux, or without --isolate."
            )
        return cls(staging=staging)

    def spawn(self, directory: Path, confinement: Confinement) -> Worker:
        """Give the worker that is under way the staged files; raises SandboxError."""
        process, self._spare = self._spare, _Spawned()
        self._given.append(process)
        sock = process.hold.connect(START_SECONDS)
        try:
            frames.send(sock, Spawn(directory=str(directory), confinement=confinement))
        except OSError as error:
            raise SandboxError(f"a worker ended when it was started: {error}") from None
        return Worker(process, sock, process.output)

    def kill_all(self) -> None:
        """Kill and reap every worker that was given files."""
        for process in self._given:
            process.hold.end()
        self._given.clear()

    def close(self) -> None:
        """End with every worker."""
        self.kill_all()
        self._spare.hold.end()
        self._spare.output.close()


class _Spawned:
    """A worker's process, and what is printed there."""

    def __init__(self) -> None:
        self.hold = SpawnedProcess(MODULE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output = _without_blocking(self.hold.process.stdout)
        self.pid = self.hold.process.pid
        self._killed = False

    def kill(self) -> bool:
        if self._killed:
            return False
        self._killed = True
        self.hold.process.kill()
        return True

    def wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.hold.process.wait(seconds)

    def reap(self) -> int:
        return self.hold.process.wait()

    def reap_later(self) -> None:
        pass  # before its report is handed over


def _without_blocking(pipe: IO[bytes] | None) -> io.RawIOBase:
    """What comes from a pipe, by way of a socket: Windows cannot ask a pipe if there is more."""
    assert pipe is not None
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    threading.Thread(target=_pass_on, args=(pipe, theirs), daemon=True).start()
    with ours:  # it is closed when the file made of it is
        return ours.makefile("rb", buffering=0)


def _pass_on(pipe: IO[bytes], to: socket.socket) -> None:
    with pipe, to, contextlib.suppress(OSError):
        while data := pipe.read(1 << 16):
            to.sendall(data)
