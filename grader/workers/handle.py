"""The trusted side's hold on one worker, however it was started."""

from __future__ import annotations

import io
import socket
import time
from typing import Any, TypeVar

import msgspec

from grader.wire import frames
from grader.wire.budget import Budget
from grader.wire.commands import Done, FromWorker, Ready
from grader.wire.errors import (
    OverBudget,
    ProtocolError,
    SandboxError,
    WorkerLost,
    WorkerTimeout,
)
from grader.wire.messages import Raised, Reply, Unusable
from grader.workers.ending import Process, how_it_ended

SPAWN_SECONDS = 30.0

LAST_MOMENT_SECONDS = 0.5
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_encoder = msgspec.msgpack.Encoder()
R = TypeVar("R", bound=FromWorker)


class Worker:
    """One process with one student's code. Whatever it says is only a claim.

    ``output`` gives what is printed there, without blocking.
    """

    def __init__(
        self,
        process: Process,
        sock: socket.socket,
        output: io.RawIOBase,
        replies: msgspec.msgpack.Decoder[Any] = REPLIES,
    ) -> None:
        self.pid = process.pid
        self.requests = 0
        """How many requests it has answered since it was spawned."""
        self._process = process
        self._sock = sock
        self._output = output
        self._replies = replies
        self._lost: WorkerLost | None = None
        self._kept = bytearray()
        self._dropped = False
        self.keep_output = 64 * 1024
        self.budget: Budget | None = None
        """What keeps count of its replies; a session has one for all its workers."""
        self._announced: msgspec.Struct | None = None
        sock.setblocking(False)
        self._reader = frames.DeadlineReader(sock, output.fileno(), self._drain)

    @property
    def alive(self) -> bool:
        """Whether it has not been lost or killed as far as this side knows."""
        return self._lost is None

    def wait_ready(self) -> Ready:
        """Wait until it has confined itself; raises SandboxError."""
        try:
            ready, _ = self._receive(time.monotonic() + SPAWN_SECONDS)
        except WorkerLost as lost:
            raise SandboxError(f"a worker could not be started: {lost.how}") from None
        if not isinstance(ready, Ready):
            raise SandboxError("a worker started with an answer that makes no sense")
        return ready

    def announce(self, request: msgspec.Struct) -> None:
        """Have ``request``, whose reply is Done, go before the next one; it replaces an earlier."""
        self._announced = request

    def request(
        self, request: msgspec.Struct, blob: bytes | bytearray, expected: type[R], deadline: float
    ) -> tuple[R | Raised | Unusable, bytearray]:
        """Send one request and return its reply and blob.

        Raises WorkerTimeout at ``deadline`` (of the monotonic clock), ProtocolError, OverBudget or
        WorkerLost; the worker is dead then.
        """
        if self._lost is not None:
            raise self._lost.with_traceback(None)
        announced, self._announced = self._announced, None
        first = b"" if announced is None else frames.framed(_encoder.encode(announced))
        if self._reader.is_ahead():
            raise self._end(ProtocolError("it answered before it was asked"))
        try:
            self._reader.deadline = deadline
            self._reader.send(first + frames.framed(_encoder.encode(request), blob))
        except (TimeoutError, OSError) as error:
            raise self._end(error) from None
        if announced is not None and not isinstance(self._receive(deadline)[0], Done):
            raise self._end(ProtocolError("it answered something else than it was asked"))
        reply, data = self._receive(deadline)
        if not isinstance(reply, expected | Raised | Unusable):
            raise self._end(ProtocolError("it answered something else than it was asked"))
        self.requests += 1
        return reply, data

    def take_output(self) -> tuple[str, bool]:
        """What was printed since the last time, and whether some of it was dropped."""
        if not self._output.closed:
            self._drain()
        text = self._kept.decode("utf-8", "backslashreplace")
        dropped = self._dropped
        self._kept.clear()
        self._dropped = False
        return text, dropped

    def kill(self) -> None:
        """Kill and reap it, if that has not been done."""
        self._kill()

    def discard(self) -> None:
        """Kill it, as nobody asks how it ends: that is not waited for."""
        if self._process.kill():
            self._lost = self._lost or WorkerLost("it was ended")
            self._process.reap_later()
            self._let_go()

    def _kill(self) -> int:
        """Kill and reap it; returns its exit code if that has not been done before."""
        if not self._process.kill():
            return 0
        self._lost = self._lost or WorkerLost("it was ended")
        try:
            return self._process.reap()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._drain()
        self._reader.close()
        self._sock.close()
        self._output.close()

    def _receive(self, deadline: float) -> tuple[Any, bytearray]:
        self._reader.deadline = deadline
        try:
            return frames.receive(self._sock, self._replies, self._reader.fill, self._admit)
        except (TimeoutError, EOFError, OSError, ProtocolError, OverBudget) as error:
            raise self._end(error) from None

    def _admit(self, reply: Any, size: int) -> None:
        if self.budget is not None:
            self.budget.admit(size, getattr(reply, "tensors", []))

    def _end(self, error: Exception) -> WorkerLost:
        """Kill it and say how it was lost."""
        died = isinstance(error, EOFError | OSError) and not isinstance(error, TimeoutError)
        if died:
            # It closed its socket, so it is ending or wants to look so; give it a moment to have a
            # status of its own, which says more than our SIGKILL would.
            self._process.wait(LAST_MOMENT_SECONDS)
        exit_code = self._kill()
        if isinstance(error, TimeoutError):
            self._lost = WorkerTimeout("it did not answer in time")
        elif isinstance(error, WorkerLost):
            self._lost = error
        else:
            self._lost = WorkerLost(how_it_ended(exit_code))
        return self._lost

    def _drain(self) -> bool:
        """Read what was printed, keeping the first of it; False once the pipe has ended."""
        for _ in range(64):
            data = self._output.read(1 << 16)
            if data is None:
                return True
            if not data:
                return False
            room = self.keep_output - len(self._kept)
            self._kept += data[: max(0, room)]
            self._dropped = self._dropped or len(data) > room
        return True
