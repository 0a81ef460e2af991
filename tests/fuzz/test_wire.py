"""Whatever comes over the wire, either way, ends in a reply or in a typed error."""

from __future__ import annotations

import io
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.course.model import Export
from grader.session.errors import CheckFailure, StudentError
from grader.session.student.proxy import Student
from grader.wire.budget import Budget
from grader.wire.commands import Confinement, Done, FromWorker
from grader.wire.errors import WorkerLost
from grader.wire.messages import (
    Analyse,
    Assigned,
    Attribute,
    Backward,
    BeginCheck,
    Call,
    CallSignature,
    Convert,
    DType,
    Entries,
    Frame,
    Gradients,
    Handle,
    Inspect,
    Inspected,
    Items,
    Load,
    Loaded,
    LoadWeights,
    Module,
    Parameter,
    Plain,
    Raised,
    Read,
    Reply,
    Returned,
    TensorRef,
    Train,
    Trained,
    Unusable,
)
from grader.wire.tensors import Packer, unpack
from grader.workers.forked import ForkServer
from grader.workers.handle import Worker

from . import mutating

encode = msgspec.msgpack.encode
decode = msgspec.msgpack.decode
numbers = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 4))


def packed(*tensors: torch.Tensor) -> Packer:
    packer = Packer()
    for tensor in tensors:
        packer.add(tensor, keep_strides=True)
    return packer


TENSORS = packed(torch.arange(6.0).reshape(2, 3), torch.ones(3, 2).T, torch.tensor([True, False]))
DENSE = packed(torch.arange(6.0).reshape(2, 3), torch.ones(2), torch.tensor([True, False]))
MODULE = Module(
    parameters=[
        Parameter(name="W.weight", shape=[2, 3], dtype="float32"),
        Parameter(name="W.bias", shape=[2], dtype="float32"),
    ],
    buffers=[Parameter(name="mask", shape=[2], dtype="bool", trained=False)],
    submodules=["W"],
)
VALUE = Items(
    kind="tuple",
    items=[
        TensorRef(index=0),
        Entries(items={"a": Plain(value=1.5), "b": DType(name="float32")}),
        Handle(id=1, type="Cache", items=[TensorRef(index=1)]),
    ],
)


def mutated(sample: tuple[Any, bytes], seed: int, changes: int) -> tuple[bytes, bytes]:
    """A message and a blob; a part is of the right form, a part of none."""
    random = Random(seed)
    message, blob = sample
    body = encode(mutating.value(random, decode(encode(message)), changes))
    if random.random() < 0.3:
        body = mutating.data(random, body, changes)
    if random.random() < 0.3:
        blob = mutating.data(random, blob, changes)
    return body, blob


# What a worker may say to the session

REPLIES: list[tuple[FromWorker, bytes]] = [
    (Returned(value=VALUE, call=1, module=MODULE, changed={0: 1}, tensors=DENSE.specs), DENSE.blob),
    (Returned(value=TensorRef(index=0), call=2, tensors=DENSE.specs), DENSE.blob),
    (Inspected(module=MODULE), b""),
    (Trained(losses=[2.0, 1.0], module=MODULE), b""),
    (Gradients(inputs={0: 0}, parameters={"W.weight": 1}, tensors=DENSE.specs), DENSE.blob),
    (Loaded(exports={"anything": "function"}, defined=["anything"]), b""),
    (
        Raised(
            kind="raised",
            type="ValueError",
            bases=["ValueError", "Exception"],
            message="no",
            frame=Frame(file="a.py", line=1, text="raise ValueError"),
        ),
        b"",
    ),
    (Unusable(problem="a sparse tensor"), b""),
    (Done(tripped={"torch.nn.MultiheadAttention": "torch.nn.MultiheadAttention"}), b""),
]
EXPORTS = msgspec.convert(
    {
        "pair": {"returns": ["output", "weights"]},
        "anything": {},
        "Layer": {"forward": {"returns": ["output"]}},
    },
    dict[str, Export],
)


class Ended:
    """Stands for a worker's process that has ended already."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._killed = False

    def kill(self) -> bool:
        first, self._killed = not self._killed, True
        return first

    def wait(self, seconds: float) -> None:
        pass

    def reap(self) -> int:
        return 0

    def reap_later(self) -> None:
        pass


@pytest.fixture(scope="module")
def ended() -> Iterator[int]:
    """A process that has ended and is not reaped, so that nobody else gets its number."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    yield pid
    os.waitpid(pid, 0)


class Wire:
    """A transport to a worker all of whose replies are there before it is asked."""

    def __init__(self, pid: int, said: bytes, printed: bytes, *, stays: bool) -> None:
        ours, self.theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        self.theirs.sendall(said)
        os.write(write_end, printed)
        os.close(write_end)
        if not stays:
            self.theirs.shutdown(socket.SHUT_WR)
        replies = msgspec.msgpack.Decoder(Reply)
        self.worker = Worker(Ended(pid), ours, io.FileIO(read_end, "r"), replies)
        self.input_writes = 0
        self.worker.budget = self.budget = Budget()
        self.curves: list[Any] = []

    def ask(self, request: Any, blob: bytes, expected: Any) -> Any:
        return self.worker.request(request, blob, expected, time.monotonic() + 0.01)

    def begin_check(self, seed: int) -> None:
        pass

    def require(self, export: str) -> None:
        pass

    def close(self) -> None:
        self.worker.kill()
        self.theirs.close()


@given(
    sample=st.sampled_from(REPLIES),
    mutation=numbers,
    name=st.sampled_from(sorted(EXPORTS)),
    lie=st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1, 2**20, 2**31]),
    stays=st.integers(0, 19).map(lambda n: n == 0),
)
@mutating.fuzzed(400)
def test_the_session_is_told_anything(ended, sample, mutation, name, lie, stays):
    body, blob = mutated(sample, *mutation)
    header = struct.pack("<II", max(0, len(body) + lie) % 2**32, len(blob))
    wire = Wire(ended, (header + body + blob) * 3, blob, stays=stays)
    try:
        result = getattr(Student(wire, EXPORTS), name)(torch.ones(2, 3, requires_grad=True))
        for part in result if isinstance(result, tuple) else [result]:
            if isinstance(part, torch.Tensor) and part.requires_grad:
                part.sum().backward()
    except (CheckFailure, StudentError, WorkerLost):
        pass
    finally:
        wire.close()


# What the session may ask of a worker

SOURCE = """
import torch

class Layer(torch.nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.W = torch.nn.Linear(width, width)
    def forward(self, x):
        return self.W(x)

def anything(*arguments, **options):
    return arguments

layer = Layer()
"""
REQUESTS: list[tuple[Any, bytes]] = [
    (Load(path="answer.py", module="answer", exports=["anything", "Layer"]), b""),
    (Analyse(path="answer.py", forbidden=["torch.nn.Linear", "enable_gqa="]), b""),
    (BeginCheck(seed=1), b""),
    (Call(name="Layer"), b""),
    (
        Call(
            name="anything",
            arguments=[VALUE.items[0], VALUE.items[1], TensorRef(index=1)],
            options={"x": Plain(value=1)},
            signature=CallSignature(arguments=["a"], options=["x"]),
            assigned=[Assigned(handle=1, tensors={"W.bias": 1}, training=True)],
            keep_graph=True,
            tensors=TENSORS.specs,
        ),
        TENSORS.blob,
    ),
    (
        Call(handle=1, name="forward", arguments=[TensorRef(index=0)], tensors=TENSORS.specs[:1]),
        TENSORS.blob[:24],
    ),
    (Backward(call=1, cotangents={0: 0}, tensors=TENSORS.specs), TENSORS.blob),
    (Attribute(handle=1, name="W"), b""),
    (Inspect(handle=1), b""),
    (Read(handle=1, names=["W.weight", "W.bias"]), b""),
    (LoadWeights(handle=1, weights={"W.weight": 0}, tensors=TENSORS.specs), TENSORS.blob),
    (Convert(handle=1, dtype="float64", device="cpu"), b""),
    (Train(handle=1, batches=0, learning_rate=0.1, tensors=TENSORS.specs), TENSORS.blob),
]


class Workers:
    """A confined worker, and another whenever one has ended."""

    def __init__(self, server: ForkServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.worker: Worker | None = None
        self.started = 0

    def current(self) -> Worker:
        if self.worker is None or not self.worker.alive:
            self.close()
            confinement = Confinement(memory_bytes=1 << 30, cpu_seconds=1000)
            self.worker = self.server.spawn(self.folder, confinement)
            self.worker.wait_ready()
            self.started += 1
            path = str(self.folder / "answer.py")
            for request in (Load(path=path, module="answer", exports=[]), Call(name="Layer")):
                self.worker.request(request, b"", FromWorker, time.monotonic() + 60)
        return self.worker

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("staged")
    (folder / "answer.py").write_text(SOURCE)
    for place in (folder, *folder.parents[:2]):
        place.chmod(0o755)
    server = ForkServer.launch()
    workers = Workers(server, folder)
    yield workers
    workers.close()
    server.close()


@given(sample=st.sampled_from(REQUESTS), mutation=numbers)
@mutating.fuzzed(100)
def test_a_worker_is_asked_anything(workers, sample, mutation):
    body, blob = mutated(sample, *mutation)
    if b"Targets" in body:  # which is a request to do harm
        return
    worker = workers.current()
    how = ""
    try:
        reply, data = worker.request(msgspec.Raw(body), blob, FromWorker, time.monotonic() + 60)
        unpack(getattr(reply, "tensors", []), data)
    except WorkerLost as lost:
        how = lost.how
    assert how in ("", "it left with another exit status than 0")
