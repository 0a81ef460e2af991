"""Processes of the grader's own: each a module run by an interpreter that inherits nothing.

There are three ways to talk to one. On Linux it can inherit a socket (:func:`start_connected`).
Everywhere it can be told through its standard input where to connect, and with which token
(:class:`SpawnedProcess`); the pipe stays open, and when that ends, whoever started the process is
gone, and so it goes too. Or it answers in lines of JSON (:mod:`grader.processes.lines`).
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
_MOST_LAST_WORDS = 3000


def start(
    module: str,
    arguments: Sequence[str] = (),
    *,
    prefix: Sequence[str] = (),
    stdin: int = subprocess.DEVNULL,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Run a module of the grader's in a fresh interpreter with a clean environment.

    ``prefix`` is a command that runs the interpreter; ``options`` are ``subprocess.Popen``'s.
    """
    kept = {name: os.environ[name] for name in _KEPT_ON_WINDOWS if name in os.environ}
    return subprocess.Popen(
        [*prefix, *interpreter(module), *arguments],
        stdin=stdin,
        env=CLEAN_ENVIRONMENT | (kept if os.name == "nt" else {}),
        cwd="/",
        **options,
    )


def start_connected(
    module: str,
    arguments: Sequence[str] = (),
    *,
    kind: int = socket.SOCK_STREAM,
    pass_fds: Sequence[int] = (),
    **options: Any,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a process with a socket to this one, whose descriptor is its first argument."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with theirs:
        number = theirs.fileno()
        arguments = [str(number), *arguments]
        process = start(module, arguments, pass_fds=[number, *pass_fds], **options)
    return process, ours


class SpawnedProcess:
    """A process that has been started, and connects when it is ready to."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, stdout: int, stderr: int | IO[bytes]
    ) -> None:
        self._listener = socket.create_server((HOST, 0), backlog=8)
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self.process = start(
            module, arguments, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, bufsize=0
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
        end(self.process)

    def _knows_token(self, sock: socket.socket) -> bool:
        """Whether who connected is the process, and not somebody else on this machine."""
        sock.settimeout(_TOKEN_SECONDS)
        said = b""
        with contextlib.suppress(OSError):
            while len(said) < TOKEN_BYTES and (more := sock.recv(TOKEN_BYTES - len(said))):
                said += more
        return hmac.compare_digest(said, self._token)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap a process."""
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def last_words(errors: IO[bytes]) -> str:
    """The end of what a process has written to this file."""
    errors.seek(0)
    return errors.read()[-_MOST_LAST_WORDS:].decode("utf-8", "backslashreplace").strip()


def interpreter(module: str) -> list[str]:
    """The command that runs a module of the grader's in a fresh interpreter."""
    return [sys.executable, "-I", "-X", "utf8", "-m", module]
