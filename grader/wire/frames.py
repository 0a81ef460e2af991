"""Frames on a socket: two lengths, a msgpack message, raw bytes.

Lengths are capped before memory is taken, and a whole frame must arrive before its deadline.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from grader.wire.budget import MAX_BLOB, MAX_MESSAGE
from grader.wire.errors import ProtocolError

LENGTHS = struct.Struct("<II")

_encoder = msgspec.msgpack.Encoder()
M = TypeVar("M")


class TooLarge(Exception):
    """A frame that the other side would refuse; nothing of it has been sent."""


def send(sock: socket.socket, message: msgspec.Struct, blob: bytes | bytearray = b"") -> None:
    """Send one frame; blocks, or times out as the socket is set to. Raises TooLarge."""
    body = _encoder.encode(message)
    if len(body) > MAX_MESSAGE or len(blob) > MAX_BLOB:
        raise TooLarge
    sock.sendall(framed(body, blob))


def framed(body: bytes, blob: bytes | bytearray = b"") -> bytes:
    """An encoded message and its blob as they are sent."""
    return b"".join((LENGTHS.pack(len(body), len(blob)), body, blob))


def receive(
    sock: socket.socket,
    decoder: msgspec.msgpack.Decoder[M],
    read: Callable[[memoryview], None] | None = None,
    admit: Callable[[M, int], None] | None = None,
) -> tuple[M, bytearray]:
    """Receive one frame, filling buffers with ``read`` (default: from the socket, blocking).

    ``admit`` may raise what keeps the blob from being read, given the message and its bytes. Raises
    EOFError at the end of the stream, ProtocolError for anything malformed.
    """
    fill = read or (lambda buffer: _fill(sock, buffer))
    lengths = bytearray(LENGTHS.size)
    fill(memoryview(lengths))
    message_size, blob_size = LENGTHS.unpack(lengths)
    if message_size > MAX_MESSAGE or blob_size > MAX_BLOB:
        raise ProtocolError("it sent a message larger than is accepted")
    body = bytearray(message_size)
    fill(memoryview(body))
    message = decode(decoder, body)
    if admit is not None:
        admit(message, message_size)
    blob = bytearray(blob_size)
    fill(memoryview(blob))
    return message, blob


def decode(decoder: msgspec.msgpack.Decoder[M], body: bytes | bytearray) -> M:
    """Decode a message; raises ProtocolError for anything that is not exactly one."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ProtocolError(f"it sent a malformed message ({type(error).__name__})") from None


def _fill(sock: socket.socket, buffer: memoryview) -> None:
    while buffer:
        count = sock.recv_into(buffer)
        if count == 0:
            raise EOFError
        buffer = buffer[count:]


class DeadlineReader:
    """Fills buffers from a non-blocking socket until a deadline, draining a pipe meanwhile.

    A worker that fills its output pipe would block on it for ever if nobody read it while its
    answer is awaited.
    """

    def __init__(self, sock: socket.socket, drain: int, on_output: Callable[[], Any]) -> None:
        self._sock = sock
        self._drain = drain
        self._on_output = on_output
        self._selector = selectors.DefaultSelector()
        self._selector.register(sock, selectors.EVENT_READ)
        self._selector.register(drain, selectors.EVENT_READ)
        self._draining = True
        self.deadline = 0.0

    def close(self) -> None:
        self._selector.close()

    def fill(self, buffer: memoryview) -> None:
        """Fill ``buffer``; raises TimeoutError at the deadline, EOFError at the stream's end."""
        while buffer:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                count = self._sock.recv_into(buffer)
            except BlockingIOError:
                self._wait(left)
                continue
            if count == 0:
                raise EOFError
            buffer = buffer[count:]

    def _wait(self, seconds: float) -> None:
        """Wait until there is something to receive, or something printed, which is taken."""
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        if self._draining and self._drain in ready and not self._on_output():
            self._selector.unregister(self._drain)
            self._draining = False

    def is_ahead(self) -> bool:
        """Whether something was sent that nobody has asked for yet."""
        try:
            return bool(self._sock.recv(1, socket.MSG_PEEK))
        except (BlockingIOError, ConnectionError):
            return False

    def send(self, data: bytes | bytearray) -> None:
        """Send ``data`` before the deadline; raises TimeoutError."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        try:
            self._sock.sendall(data)
        finally:
            self._sock.setblocking(False)
