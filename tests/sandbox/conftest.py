"""Workers to ask, each with a submission of its own."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.wire.commands import Confinement
from grader.wire.errors import SandboxError
from grader.wire.messages import Call, Load, Loaded, Plain, Returned, TensorRef
from grader.wire.tensors import Packer, unpack
from grader.wire.values import decode
from grader.workers.forked import ForkServer
from grader.workers.handle import Worker

SECONDS = 60.0
GIBIBYTE = 1 << 30


class Submission:
    """A worker that has imported a student's file."""

    def __init__(self, worker: Worker, path: Path) -> None:
        self.worker = worker
        self.path = path

    def load(self, *, seconds: float = SECONDS, **fields: Any) -> Any:
        request = Load(path=str(self.path), module=self.path.stem, exports=[], **fields)
        return self.ask(request, Loaded, seconds=seconds)[0]

    def ask(self, request: Any, expected: Any, blob: bytes = b"", *, seconds: float = SECONDS):
        return self.worker.request(request, blob, expected, time.monotonic() + seconds)

    def reply_to(self, name: str, *arguments: Any, seconds: float = SECONDS, **fields: Any) -> Any:
        """The reply to a call, whichever it is, and its blob."""
        packer = Packer()
        encoded = [
            TensorRef(index=packer.add(argument, keep_strides=True))
            if isinstance(argument, torch.Tensor)
            else Plain(value=argument)
            for argument in arguments
        ]
        request = Call(name=name, arguments=encoded, tensors=packer.specs, **fields)
        return self.ask(request, Returned, bytes(packer.blob), seconds=seconds)

    def call(self, name: str, *arguments: Any, seconds: float = SECONDS) -> Any:
        """What a call returned."""
        reply, blob = self.reply_to(name, *arguments, seconds=seconds)
        assert isinstance(reply, Returned), reply
        return decode(reply.value, unpack(reply.tensors, blob), lambda handle, _: handle)


Start = Callable[..., Submission]


@pytest.fixture
def start(fork_server: ForkServer, tmp_path: Path) -> Iterator[Start]:
    """Starts a worker for a source text; ``on`` says by which fork server."""
    workers: list[Worker] = []
    numbers = itertools.count()

    def start_one(
        source: str, *, on: ForkServer = fork_server, load: bool = True, **confinement: Any
    ) -> Submission:
        folder = tmp_path / f"staged{next(numbers)}"
        folder.mkdir()
        path = folder / "submission.py"
        path.write_text(source, "utf-8")
        limits = {"memory_bytes": GIBIBYTE, "cpu_seconds": 100} | confinement
        worker = on.spawn(folder, Confinement(**limits))
        workers.append(worker)
        worker.wait_ready()
        submission = Submission(worker, path)
        if load:
            reply = submission.load()
            assert isinstance(reply, Loaded), reply
        return submission

    yield start_one
    for worker in workers:
        with contextlib.suppress(SandboxError):  # a test may have ended the fork server
            worker.kill()
