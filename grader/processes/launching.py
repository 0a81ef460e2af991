"""Processes of the grader's own that inherit nothing but a pipe, as every system can start them.

The new process is told through its standard input where to connect, and with which token. The pipe
then stays open: when it ends, whoever started the process is gone, and so it goes too.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO, Any

from grader.processes.environment import CLEAN_ENVIRONMENT
from grader.wire.errors import SandboxError
from grader.wire.parent import HOST, TOKEN_BYTES, prompt

_TOKEN_SECONDS = 5.0
_STEP_SECONDS = 0.25
"""How long it takes at most to notice that a process has ended before it connected."""
_KEPT_ON_WINDOWS = ("SYSTEMROOT", "WINDIR", "COMSPEC", "TEMP", "TMP", "PATHEXT")
"""Without these neither sockets nor temporary files work there."""


class SpawnedProcess:
    """A process that has been started, and connects when it is ready to."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, stdout: int, stderr: int | IO[bytes]
    ) -> None:
        self._listener = socket.create_server((HOST, 0), backlog=8)
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self.process = subprocess.Popen(
            [*interpreter(module), *arguments],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            env=_environment(),
            cwd="/",
        )
        assert self.process.stdin is not None
        port = self._listener.getsockname()[1]
        with contextlib.suppress(OSError):  # it may have ended already, which shows later
            self.process.stdin.write(port.to_bytes(2, "big") + self._token)

    def connect(self, seconds: float) -> socket.socket:
        """The socket to it, once it has connected; raises SandboxError."""
        deadline = time.monotonic() + seconds
        self._listener.settimeout(_STEP_SECONDS)
        with self._listener:
            while time.monotonic() < deadline and self.process.poll() is None:
                with contextlib.suppress(TimeoutError):
                    sock, _ = self._listener.accept()
                    if self._knows_token(sock):
                        return prompt(sock)
                    sock.close()
        self.end()
        raise SandboxError("a process of the grader's own could not be started")

    def end(self) -> None:
        """Kill and reap it."""
        self._listener.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _knows_token(self, sock: socket.socket) -> bool:
        """Whether who connected is the process, and not somebody else on this machine."""
        sock.settimeout(_TOKEN_SECONDS)
        said = b""
        with contextlib.suppress(OSError):
            while len(said) < TOKEN_BYTES and (more := sock.recv(TOKEN_BYTES - len(said))):
                said += more
        return hmac.compare_digest(said, self._token)


def interpreter(module: str) -> list[str]:
    """The command that runs a module of the grader's in a fresh interpreter."""
    return [sys.executable, "-I", "-X", "utf8", "-m", module]


def _environment() -> dict[str, Any]:
    kept = {name: os.environ[name] for name in _KEPT_ON_WINDOWS if name in os.environ}
    return CLEAN_ENVIRONMENT | (kept if os.name == "nt" else {})
