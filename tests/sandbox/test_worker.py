"""A worker is confined before the student's code runs: probed from inside, layer by layer.

Each probe is also run where its layer is off; there it has to say so, or it proves nothing.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.processes.environment import CLEAN_ENVIRONMENT
from grader.wire.commands import Confinement
from grader.workers.forked import ForkServer

PROBES = """
import ctypes, mmap, os, resource, sys

libc = ctypes.CDLL(None, use_errno=True)

def status(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(key + ":"))

def fails(error, action):
    try:
        action()
    except error:
        return True
    return False

def no_new_privileges():
    return status("NoNewPrivs") == "1"

def closed_memory():
    return libc.prctl(3, 0, 0, 0, 0) == 0

def dies_with_the_fork_server():
    number = ctypes.c_int()
    libc.prctl(2, ctypes.byref(number), 0, 0, 0)
    return number.value == 9

def memory_by_malloc():
    return fails(MemoryError, lambda: b"x" * (256 << 20))

def memory_by_mmap():
    return fails(OSError, lambda: mmap.mmap(-1, 256 << 20))

def memory_by_tensors():
    import torch
    return fails(RuntimeError, lambda: torch.empty(256 << 20, dtype=torch.uint8))

def file_size():
    def write():
        with open("large", "wb", buffering=0) as file:
            for _ in range(2):
                file.write(bytes(1 << 20))
    return fails(OSError, write)

def open_files():
    return fails(OSError, lambda: [open("/dev/null") for _ in range(100)])

def core_dumps():
    return resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)

def locked_memory():
    return resource.getrlimit(resource.RLIMIT_MEMLOCK) == (0, 0)

def message_queues():
    return resource.getrlimit(resource.RLIMIT_MSGQUEUE) == (0, 0)

def processor_time():
    return resource.getrlimit(resource.RLIMIT_CPU) == (100, 101)

def limits_cannot_be_raised():
    held = resource.getrlimit(resource.RLIMIT_NOFILE)
    return held[0] == held[1] == 64

def first_to_go():
    return open("/proc/self/oom_score_adj").read() == "1000\\n"
"""
NAMES = [
    line.split()[1].removesuffix("():") for line in PROBES.splitlines() if line.endswith("():")
]
NAMES.remove("write")
MEMORY = 64 << 20
KERNEL = ["user", "landlock", "seccomp"]
"""Without these a probe can read what the other layers did."""

WITHOUT_LAYERS = """
import sys
sys.path.insert(0, {root!r})
from grader.forkserver import serving
from grader.confinement import limits
from grader.confinement import prctl
limits.apply = lambda confinement: ([], [])
prctl.deny_new_privileges = lambda: None
prctl.set_dumpable = lambda value: None
prctl.die_with_parent = lambda parent: None
serving.main()
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")


@pytest.fixture(scope="module")
def unconfined_server(pytestconfig: pytest.Config) -> Iterator[ForkServer]:
    """A fork server whose workers have layers 1 and 2 switched off."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = WITHOUT_LAYERS.format(root=str(pytestconfig.rootpath))
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", program, str(number)],
            env=CLEAN_ENVIRONMENT,
            pass_fds=[number],
        )
    server = ForkServer(ours, process)
    yield server
    server.close()


@linux
class TestLayers:
    @pytest.mark.parametrize("name", NAMES)
    def test_holds(self, start, name):
        assert start(PROBES, memory_bytes=MEMORY, without=KERNEL).call(name) is True

    @pytest.mark.parametrize("name", NAMES)
    def test_the_probe_sees_when_it_does_not(self, start, unconfined_server, name):
        if name == "no_new_privileges" and _status_of_this_process("NoNewPrivs") == "1":
            pytest.skip("this process has none itself")
        if name == "message_queues" and not _could_be_set("RLIMIT_MSGQUEUE"):
            pytest.skip("none here anyway")
        if name == "locked_memory" and not _could_be_set("RLIMIT_MEMLOCK"):
            pytest.skip("none here anyway")
        if name == "core_dumps" and not _could_be_set("RLIMIT_CORE"):
            pytest.skip("none here anyway")
        inside = start(PROBES, on=unconfined_server, memory_bytes=MEMORY, without=KERNEL)
        assert inside.call(name) is False

    def test_says_what_is_enforced(self, fork_server, tmp_path):
        worker = fork_server.spawn(tmp_path, Confinement(memory_bytes=1 << 30, cpu_seconds=9))
        ready = worker.wait_ready()
        worker.kill()
        assert ready.missing == []
        assert {
            "limit on memory (address space)",
            "limit on memory (data)",
            "limit on processor time",
            "limit on file size",
            "limit on open files",
            "no new privileges",
            "memory closed to other processes",
            "end with the fork server",
        } <= set(ready.enforced)

    def test_processor_time_runs_out(self, start):
        submission = start("def work():\n    while True: pass", cpu_seconds=1)
        with pytest.raises(Exception, match="used up its processor time"):
            submission.call("work")


def _status_of_this_process(key: str) -> str:
    with open("/proc/self/status") as lines:
        return next(line.split()[1] for line in lines if line.startswith(f"{key}:"))


def _could_be_set(limit: str) -> bool:
    import resource

    return resource.getrlimit(getattr(resource, limit)) != (0, 0)


SURROUNDINGS = """
import gc, os, sys

def environment():
    return dict(os.environ)

def initial_environment():
    return open("/proc/self/environ", "rb").read().decode()

def descriptors():
    found = []
    for number in range(64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found

def process():
    return [os.getsid(0) == os.getpid(), os.getcwd(), sys.argv, sys.path[-1], sys.flags.isolated]

def modules(prefix):
    return [name for name in sys.modules if name.startswith(prefix)]

def in_memory(halves):
    text = "".join(halves)
    return any(isinstance(o, str) and text in o and o != text for o in gc.get_objects())

def standard_input():
    return sys.stdin.read()

def threads():
    return len(os.listdir("/proc/self/task"))
"""


class TestSurroundings:
    def test_the_environment_is_clean(self, start, secret):
        inside = start(SURROUNDINGS, without=[*KERNEL, "memory"])
        found = inside.call("environment")
        found.pop("TORCHINDUCTOR_CACHE_DIR", None)  # what torch's compiler asks for
        assert found == CLEAN_ENVIRONMENT
        assert secret not in inside.call("initial_environment")

    def test_nothing_is_open_but_what_it_needs(self, start):
        assert start(SURROUNDINGS).call("descriptors") == [0, 1, 2, 3]

    def test_it_is_alone_in_its_session_and_folder(self, start):
        inside = start(SURROUNDINGS)
        folder = str(inside.path.parent)
        assert inside.call("process") == [True, folder, [""], folder, 1]

    def test_the_trusted_side_was_never_imported(self, start):
        inside = start(SURROUNDINGS)
        assert inside.call("modules", "grader.session") == []
        assert inside.call("modules", "grader.report") == []
        assert inside.call("modules", "_pytest") == []

    def test_standard_input_is_at_its_end(self, start):
        assert start(SURROUNDINGS).call("standard_input") == ""

    def test_one_thread(self, start):
        assert start(SURROUNDINGS, without=KERNEL).call("threads") == 1

    def test_no_bytecode_is_written(self, start):
        inside = start("def f():\n    import helper\n    return helper.x")
        (inside.path.parent / "helper.py").write_text("x = 3\n")
        assert inside.call("f") == 3
        assert not (inside.path.parent / "__pycache__").exists()

    def test_a_file_beside_it_never_shadows_the_library(self, start):
        inside = start("def f():\n    import colorsys\n    return colorsys.__file__")
        (inside.path.parent / "colorsys.py").write_text("")
        assert inside.call("f") != str(inside.path.parent / "colorsys.py")

    def test_workers_do_not_share_random_numbers(self, start):
        source = "import random\ndef f(): return random.random()"
        assert start(source).call("f") != start(source).call("f")


class _Ends:
    """Whether a process has ended, told by the kernel rather than by waiting a while."""

    def __init__(self, pid: int) -> None:
        self._pidfd = os.pidfd_open(pid)

    def within(self, seconds: float) -> bool:
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def close(self) -> None:
        os.close(self._pidfd)


@linux
class TestTheEndOfTheForkServer:
    SOURCE = "def pid():\n    import os\n    return os.getpid()"

    @pytest.fixture
    def server(self):
        server = ForkServer.launch()
        yield server
        server.close()

    def test_killing_it_kills_its_workers(self, server, start):
        inside = start(self.SOURCE, on=server)
        worker = _Ends(inside.call("pid"))
        assert not worker.within(0)
        os.kill(server._process.pid, signal.SIGKILL)
        assert worker.within(60)
        worker.close()

    def test_without_the_layer_they_live_on(self, start, unconfined_server):
        inside = start(self.SOURCE, on=unconfined_server)
        pid = inside.call("pid")
        worker = _Ends(pid)
        os.kill(unconfined_server._process.pid, signal.SIGKILL)
        unconfined_server._process.wait()
        assert not worker.within(0.2)
        os.kill(pid, signal.SIGKILL)
        worker.close()

    def test_closing_it_ends_its_workers(self, start):
        server = ForkServer.launch()
        inside = start(self.SOURCE, on=server)
        worker = _Ends(inside.call("pid"))
        server.close()
        assert worker.within(60)
        worker.close()
