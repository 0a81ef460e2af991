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
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from grader.sandbox.errors import SandboxError
from grader.sandbox.starting import CLEAN_ENVIRONMENT

TOKEN_BYTES = 32
_HOST = "127.0.0.1"
_TOKEN_SECONDS = 5.0
_STEP_SECONDS = 0.25
"""How long it takes at most to notice that a process has ended before it connected."""
_KEPT_ON_WINDOWS = ("SYSTEMROOT", "WINDIR", "COMSPEC", "TEMP", "TMP", "PATHEXT")
"""Without these neither sockets nor temporary files work there."""


class Spawned:
    """A process that has been started, and connects when it is ready to."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, stdout: int, stderr: int | IO[bytes]
    ) -> None:
        self._listener = socket.create_server((_HOST, 0), backlog=8)
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
                        return _prompt(sock)
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


class Summons:
    """What a spawned process was told by the one that started it."""

    def __init__(self) -> None:
        told = _read(0, 2 + TOKEN_BYTES)
        self._port, self._token = int.from_bytes(told[:2], "big"), told[2:]
        # Standard input is the student's to read from; the pipe is not.
        pipe = os.dup(0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()

    def answer(self) -> socket.socket:
        """Connect; raises OSError if nobody waits for it any more."""
        sock = socket.create_connection((_HOST, self._port))
        sock.sendall(self._token)
        return _prompt(sock)


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(descriptor, size - len(data))
        if not more:
            os._exit(1)
        data += more
    return data


def _end_with(pipe: int) -> None:
    """End this process when the pipe does, whatever else is running."""
    with contextlib.suppress(OSError):
        while os.read(pipe, 1):
            pass
    os._exit(1)


def _prompt(sock: socket.socket) -> socket.socket:
    """A connected socket that sends small messages at once."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(None)
    return sock


def _environment() -> dict[str, Any]:
    kept = {name: os.environ[name] for name in _KEPT_ON_WINDOWS if name in os.environ}
    return CLEAN_ENVIRONMENT | (kept if os.name == "nt" else {})
