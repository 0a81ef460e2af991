"""How a spawned process finds the one that started it, and ends with it."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

TOKEN_BYTES = 32
HOST = "127.0.0.1"


class ParentConnection:
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
        sock = socket.create_connection((HOST, self._port))
        sock.sendall(self._token)
        return prompt(sock)


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


def prompt(sock: socket.socket) -> socket.socket:
    """A connected socket that sends small messages at once."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(None)
    return sock
