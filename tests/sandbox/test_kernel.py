"""A student's file under Landlock and seccomp: what honest ones need works, tricks do not."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.wire.errors import WorkerLost
from grader.wire.messages import Raised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")

HONEST = """
import torch

def optimiser():
    layer = torch.nn.Linear(3, 3)
    step = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(2, 3)).sum().backward()
    step.step()
    return True

def loader():
    from torch.utils.data import DataLoader, TensorDataset
    return len(list(DataLoader(TensorDataset(torch.arange(8)), batch_size=2))) == 4

def torch_threads():
    torch.set_num_threads(2)
    x = torch.ones(600, 600)
    return (x @ x).sum().item() == 600.0 ** 3

def python_threads():
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(abs, [-1, 2])) == [1, 2]

def functional():
    return torch.func.vmap(torch.sin)(torch.zeros(3)).sum().item() == 0.0

def gradcheck():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(torch.sin, x)

def scripted():
    return torch.jit.script(torch.nn.Linear(2, 2))(torch.ones(1, 2)).shape == (1, 2)

def recurrent():
    return torch.nn.LSTM(3, 4)(torch.ones(2, 1, 3))[0].shape == (2, 1, 4)

def half_precision():
    x = torch.ones(8, 8, dtype=torch.bfloat16)
    return (x @ x).sum().item() == 512.0

def arrays():
    import numpy.fft
    import numpy.linalg
    import numpy.random
    return bool(numpy.linalg.svd(numpy.eye(3))[1].sum() == 3.0)

def serialised():
    import io
    place = io.BytesIO()
    torch.save(torch.ones(2), place)
    place.seek(0)
    return torch.load(place).sum().item() == 2.0

def checkpoint():
    from torch.utils.checkpoint import checkpoint
    x = torch.ones(2, requires_grad=True)
    checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    return x.grad is not None

def devices():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu") is not None

def library():
    import asyncio, ctypes, decimal, email, hashlib, http.client, json, logging, multiprocessing
    import os, pathlib, pickle, random, secrets, sqlite3, ssl, statistics, tempfile, unittest, uuid
    return len(secrets.token_hex(4)) == 8 and bool(uuid.uuid4()) and os.cpu_count() >= 1

def time_zones():
    import datetime
    import zoneinfo
    return datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")).utcoffset() is not None

def silence():
    import contextlib, os
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        print("nobody hears this")
    return open(os.devnull).read() == ""

def own_source():
    import inspect, pathlib
    return "own_source" in pathlib.Path(__file__).read_text() and bool(inspect.getsource(silence))

def alarm():
    import signal
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    return seen == [1]

def terminal():
    import shutil, sys, warnings
    warnings.warn("a warning")
    return not sys.stdout.isatty() and shutil.get_terminal_size().columns > 0

def signal_to_itself():
    import os, signal
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    return True
"""
NEEDS = [line[4:-3] for line in HONEST.splitlines() if line.startswith("def ")]


@pytest.mark.parametrize("name", NEEDS)
def test_honest_code_works(start, name):
    assert start(HONEST, cpu_seconds=60).call(name) is True


MACHINE = """
import ctypes, mmap, os

def run(code):
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(start)() == os.getpid()

def x32():
    return ctypes.CDLL(None).syscall(0x40000000 | 39) == os.getpid()
"""
GETPID_OF_I386 = "b814000000cd80c3"
"""mov eax, 20; int 0x80; ret"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs its machine code")
class TestAnotherTableOfCalls:
    def test_that_of_i386_ends_the_worker(self, start):
        with pytest.raises(WorkerLost, match="ended by a signal"):
            start(MACHINE).call("run", GETPID_OF_I386)

    def test_it_would_work_otherwise(self, start):
        inside = start(MACHINE, without=["seccomp"])
        try:
            assert inside.call("run", GETPID_OF_I386) is True
        except WorkerLost:
            pytest.skip("this kernel has no such calls")

    def test_that_of_x32_ends_the_worker(self, start):
        with pytest.raises(WorkerLost, match="ended by a signal"):
            start(MACHINE).call("x32")


KILLER = """
import ctypes, os, signal

libc = ctypes.CDLL(None, use_errno=True)
TKILL, TGKILL, PIDFD_OPEN, PIDFD_SEND, QUEUE, QUEUE_THREAD = {calls}
information = (ctypes.c_int * 32)(9, 0, -1)  # as if by sigqueue

def kill_by_kill(pid):
    os.kill(pid, signal.SIGKILL)

def kill_by_tkill(pid):
    libc.syscall(TKILL, pid, 9)

def kill_by_tgkill(pid):
    libc.syscall(TGKILL, pid, pid, 9)

def kill_by_queue(pid):
    libc.syscall(QUEUE, pid, 9, information)

def kill_by_thread_queue(pid):
    libc.syscall(QUEUE_THREAD, pid, pid, 9, information)

def kill_by_pidfd(pid):
    libc.syscall(PIDFD_SEND, libc.syscall(PIDFD_OPEN, pid, 0), 9, None, 0)

def kill_by_group(pid):
    os.killpg(os.getpgid(pid), signal.SIGKILL)

def kill_by_input(pid):
    import fcntl
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, pid)
    fcntl.fcntl(reading, 10, 9)  # F_SETSIG
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")
"""
CALLS = {
    "x86_64": (200, 234, 434, 424, 129, 297),
    "aarch64": (130, 131, 434, 424, 138, 240),
}
WAYS = [line[4:-6] for line in KILLER.splitlines() if line.startswith("def kill")]
KILLER = KILLER.format(calls=CALLS.get(platform.machine()))


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of this user's, alone in its group."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.skipif(platform.machine() not in CALLS, reason="numbers of calls are not known")
@pytest.mark.parametrize("way", WAYS)
class TestSignals:
    def test_reach_nobody_else(self, start, victim, way):
        reply, _ = start(KILLER).reply_to(way, victim.pid)
        assert not isinstance(reply, Raised) or reply.type in ("PermissionError", "OSError")
        assert victim.poll() is None

    def test_would_otherwise(self, start, victim, way):
        start(KILLER, without=["user", "landlock", "seccomp"]).reply_to(way, victim.pid)
        assert victim.wait(timeout=60) == -signal.SIGKILL
