"""What a worker may do, in the end it is a typed error, within its deadline, and nothing else."""

from __future__ import annotations

import pytest
import torch

from grader.wire.commands import Done
from grader.wire.errors import ProtocolError, WorkerLost, WorkerTimeout
from grader.wire.messages import BeginCheck, Raised, Returned, Unusable

FAREWELLS = """
import ctypes, os, signal, sys, threading

def leave():
    os._exit(0)

def segfault():
    ctypes.string_at(0)

def abort():
    os.abort()

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)

def close_the_socket():
    os.close(3)

def close_everything():
    os.closerange(0, 64)

def leave_in_a_thread():
    threading.Thread(target=os._exit, args=(7,)).start()
    threading.Event().wait()

def loop():
    while True:
        pass

def wait():
    threading.Event().wait()

def ignore_signals():
    for number in range(1, 64):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    loop()

def stop():
    os.kill(os.getpid(), signal.SIGSTOP)

def loop_in_c():
    sum(iter(int, 1))

class Loops:
    def __str__(self):
        loop()

class LoopingError(Exception):
    def __str__(self):
        loop()

def raise_without_end():
    raise LoopingError

def fine():
    return 3
"""


class TestTheProcessEnds:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("leave", "exit status 0"),
            ("segfault", "segmentation fault"),
            ("abort", "aborted itself"),
            ("kill", "killed"),
            ("terminate", "ended by a signal"),
            ("close_the_socket", "another exit status than 0"),
            ("close_everything", "another exit status than 0"),
            ("leave_in_a_thread", "another exit status than 0"),
        ],
    )
    def test_says_how(self, start, name, words):
        submission = start(FAREWELLS)
        with pytest.raises(WorkerLost, match=words):
            submission.call(name)
        assert not submission.worker.alive

    def test_stays_lost(self, start):
        submission = start(FAREWELLS)
        for _ in range(2):
            with pytest.raises(WorkerLost, match="exit status 0"):
                submission.call("leave")
        submission.worker.kill()
        assert submission.worker.take_output() == ("", False)

    def test_others_live_on(self, start):
        one, other = start(FAREWELLS), start(FAREWELLS)
        with pytest.raises(WorkerLost):
            one.call("segfault")
        assert other.call("fine") == 3

    @pytest.mark.parametrize(
        "source", ["import os\nos._exit(0)", "import ctypes\nctypes.string_at(0)"]
    )
    def test_while_it_is_imported(self, start, source):
        with pytest.raises(WorkerLost):
            start(source, load=False).load()


class TestTheDeadline:
    @pytest.mark.parametrize(
        "name",
        ["loop", "wait", "ignore_signals", "stop", "loop_in_c", "raise_without_end"],
    )
    def test_ends_whatever_does_not(self, start, name):
        submission = start(FAREWELLS)
        with pytest.raises(WorkerTimeout):
            submission.call(name, seconds=0.2)
        assert not submission.worker.alive

    def test_holds_for_the_import(self, start):
        with pytest.raises(WorkerTimeout):
            start("while True: pass", load=False).load(seconds=0.2)

    def test_that_has_passed(self, start):
        submission = start(FAREWELLS)
        with pytest.raises(WorkerTimeout):
            submission.call("fine", seconds=-1)


ERRORS = """
import sys

class Unreadable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Mine(ValueError, KeyError):
    pass

class ValueError_(Exception):
    pass
ValueError_.__name__ = "ValueError"

def leave():
    sys.exit(0)

def interrupt():
    raise KeyboardInterrupt

def recurse():
    return recurse()

def unreadable():
    raise Unreadable

def mine():
    raise Mine("three")

def pretender():
    raise ValueError_("not really")

def long():
    raise RuntimeError("no " * 1_000_000)

def odd_text():
    raise RuntimeError("\\ud800\\x00\\x1b[31m")

def group():
    raise ExceptionGroup("several", [ValueError(1)])

def generator_exit():
    raise GeneratorExit

def memory():
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))

def stub():
    raise NotImplementedError

def by_torch():
    import torch
    return torch.ones(2) @ torch.ones(3)
"""


class TestErrors:
    @pytest.mark.parametrize(
        ("name", "kind", "base"),
        [
            ("leave", "SystemExit", None),
            ("interrupt", "KeyboardInterrupt", None),
            ("generator_exit", "GeneratorExit", None),
            ("recurse", "RecursionError", "RuntimeError"),
            ("unreadable", "Unreadable", "Exception"),
            ("mine", "Mine", "ValueError"),
            ("long", "RuntimeError", "RuntimeError"),
            ("odd_text", "RuntimeError", "RuntimeError"),
            ("group", "ExceptionGroup", "ExceptionGroup"),
            ("stub", "NotImplementedError", "NotImplementedError"),
            ("by_torch", "RuntimeError", "RuntimeError"),
        ],
    )
    def test_arrive_typed_with_their_line(self, start, name, kind, base):
        submission = start(ERRORS)
        reply, _ = submission.reply_to(name)
        assert isinstance(reply, Raised)
        assert reply.type == kind
        assert base is None or base in reply.bases
        assert len(reply.message) <= 4000
        assert reply.frame is not None
        line = ERRORS.splitlines()[reply.frame.line - 1].strip()
        assert (reply.frame.file, reply.frame.text) == ("submission.py", line)
        assert submission.reply_to("stub")[0].type == "NotImplementedError"

    def test_a_name_alone_makes_no_built_in_error(self, start):
        reply, _ = start(ERRORS).reply_to("pretender")
        assert reply.bases == ["Exception"]

    def test_running_out_of_memory(self, start):
        submission = start(ERRORS, memory_bytes=128 << 20)
        reply, _ = submission.reply_to("memory")
        assert (reply.type, reply.frame.line) == (
            "MemoryError",
            ERRORS[: ERRORS.index("hoard.append")].count("\n") + 1,
        )

    @pytest.mark.parametrize(
        ("source", "kind", "line"),
        [
            ("def f(:\n  pass", "syntax", 1),
            ("x = 1\n  y = 2", "syntax", 2),
            ("x = '\0'", "syntax", None),
            ("x = " + "(" * 5000, "syntax", 1),
            ("x = " + "-" * 200_000 + "1", "syntax", None),
            ("x = 1\nraise ValueError('mine')", "raised", 2),
            ("x = 1\n\n1 / 0", "raised", 3),
            ("import nowhere_at_all", "raised", 1),
        ],
        ids=range(8),
    )
    def test_at_import(self, start, source, kind, line):
        reply = start(source, load=False).load()
        assert isinstance(reply, Raised)
        assert reply.kind == kind
        assert (reply.frame.line if reply.frame else None) == line


class TestOutput:
    def test_is_taken_once_in_the_order_it_was_printed(self, start):
        submission = start(
            "import os, sys\nprint('imported')\ndef f(x):\n    print('out', x)\n"
            "    print('err', x, file=sys.stderr)\n    os.write(1, b'raw\\n')"
        )
        assert submission.worker.take_output() == ("imported\n", False)
        submission.call("f", 1)
        submission.call("f", 2)
        assert submission.worker.take_output() == ("out 1\nerr 1\nraw\nout 2\nerr 2\nraw\n", False)
        assert submission.worker.take_output() == ("", False)

    def test_of_a_call_that_ends_the_process(self, start):
        submission = start("import os\ndef f():\n    print('last words')\n    os._exit(0)")
        with pytest.raises(WorkerLost):
            submission.call("f")
        assert submission.worker.take_output()[0] == "last words\n"

    def test_a_flood_is_dropped_and_costs_nothing(self, start):
        submission = start(
            "import os\ndef flood():\n    block = b'x' * (1 << 20)\n    for _ in range(200):\n"
            "        print('x' * 100)\n        os.write(1, block)\n    return 'done'"
        )
        submission.worker.keep_output = 1000
        assert submission.call("flood") == "done"
        text, dropped = submission.worker.take_output()
        assert (text, dropped) == ("x" * 100 + "\n" + "x" * 899, True)
        assert submission.call("flood") == "done"

    def test_need_not_be_text(self, start):
        submission = start("import os\ndef f():\n    os.write(1, b'\\xff\\x00\\xe2')")
        submission.call("f")
        assert submission.worker.take_output() == ("\\xff\x00\\xe2", False)

    def test_streams_that_were_closed_or_replaced(self, start):
        submission = start(
            "import sys\ndef close():\n    sys.stdout.close()\n"
            "def replace():\n    sys.stdout = None\n    sys.stderr = 3\n"
            "def fine():\n    return 3"
        )
        submission.call("close")
        submission.call("replace")
        assert submission.call("fine") == 3

    def test_a_thread_that_floods_while_nothing_is_asked(self, start):
        submission = start(
            "import os, threading\n"
            "begun = threading.Event()\n"
            "def flood():\n    while os.write(1, b'x' * 65536): begun.set()\n"
            "def f():\n    threading.Thread(target=flood, daemon=True).start()\n"
            "    begun.wait()\n"
            "def g():\n    return 3"
        )
        submission.worker.keep_output = 1000
        submission.call("f")
        assert submission.call("g") == 3
        assert submission.worker.take_output()[1]


LIES = """
import os, socket, struct

import msgspec, torch

sock = socket.socket(fileno=os.dup(3))
encode = msgspec.msgpack.encode

def frame(message, blob=b""):
    body = message if isinstance(message, bytes) else encode(message)
    return struct.pack("<II", len(body), len(blob)) + body + blob

def returned(**fields):
    plain = {"is": "Plain", "value": None}
    return {"is": "Returned", "value": plain, "call": 1, **fields}

def noise():
    sock.sendall(os.urandom(64))

def huge():
    sock.sendall(struct.pack("<II", 2**32 - 1, 2**32 - 1))

def huge_blob():
    sock.sendall(struct.pack("<II", 10, 2**32 - 1))

def no_message():
    sock.sendall(frame(b""))

def unknown():
    sock.sendall(frame({"is": "Score", "earned": 100}))

def ready_again():
    sock.sendall(frame({"is": "Ready", "enforced": [], "not_enforced": []}))

def another_reply():
    sock.sendall(frame({"is": "Done"}))

def a_pickle():
    import pickle
    sock.sendall(frame(pickle.dumps(sock.fileno())))

def the_first_part():
    sock.sendall(struct.pack("<II", 1000, 0) + b"half")
    while True:
        pass

def dribble():
    data = struct.pack("<II", 1 << 20, 0) + bytes(1 << 20)
    for byte in data:
        sock.sendall(bytes([byte]))
        os.sched_yield()
        for _ in range(20_000):
            pass

def forged():
    spec = ["float32", [2], 8, [], "cpu", False]
    value = {"is": "TensorRef", "index": 0}
    sock.sendall(frame(returned(value=value, tensors=[spec]), struct.pack("<ff", 1.0, 2.0)))

def twice():
    sock.sendall(frame(returned()) * 3)

def lying_shape():
    spec = ["float32", [1 << 20, 1 << 19], 8, [], "cpu", False]
    value = {"is": "TensorRef", "index": 0}
    sock.sendall(frame(returned(value=value, tensors=[spec]), bytes(8)))
    os._exit(0)
"""


class TestLies:
    @pytest.mark.parametrize(
        "name",
        [
            "noise",
            "huge",
            "huge_blob",
            "no_message",
            "unknown",
            "ready_again",
            "another_reply",
            "a_pickle",
        ],
    )
    def test_break_the_protocol(self, start, name):
        submission = start(LIES)
        with pytest.raises(ProtocolError):
            submission.call(name)
        assert not submission.worker.alive

    @pytest.mark.parametrize("name", ["the_first_part", "dribble"])
    def test_half_a_frame_is_a_timeout(self, start, name):
        submission = start(LIES)
        with pytest.raises(WorkerTimeout):
            submission.call(name, seconds=0.5)

    def test_a_forged_reply_is_only_a_claim_about_tensors(self, start):
        submission = start(LIES)
        assert torch.equal(submission.call("forged"), torch.tensor([1.0, 2.0]))

    def test_replies_too_many_are_noticed(self, start):
        submission = start(LIES)
        submission.reply_to("twice")
        with pytest.raises(ProtocolError):
            submission.ask(BeginCheck(seed=1), Done)

    def test_shapes_that_lie(self, start):
        with pytest.raises(ProtocolError, match="shape"):
            start(LIES).call("lying_shape")


RESULTS = """
import collections, torch

Pair = collections.namedtuple("Pair", "output weights")

def many_items():
    return list(range(1_000_000))

def long_texts():
    return ["x" * 60_000] * 100

def deep():
    inner = outer = []
    for _ in range(100):
        inner.append([])
        inner = inner[0]
    return outer

def itself():
    mine = []
    mine.append(mine)
    return mine

def odd_keys():
    return {1: 2}

def surrogates():
    return {"\\ud800": 1}

def odd_numbers():
    return [float("nan"), -0.0, 10**30, True, "\\ud800"]

def pair():
    return Pair(torch.ones(2), torch.zeros(1))

def sparse():
    return torch.eye(3).to_sparse()

def many_tensors():
    return [torch.zeros(1)] * 4000

def large():
    return torch.zeros(1).expand(1 << 40)

def fine():
    return 3

def an_object():
    class Surprise:
        def __eq__(self, other):
            return True
        def __reduce__(self):
            raise SystemExit
    return Surprise()
"""


class TestResults:
    @pytest.mark.parametrize(
        "name", ["many_items", "deep", "itself", "odd_keys", "odd_numbers", "pair", "an_object"]
    )
    def test_come_back_as_something(self, start, name):
        submission = start(RESULTS)
        reply, _ = submission.reply_to(name)
        assert isinstance(reply, Returned)
        assert submission.worker.alive

    @pytest.mark.parametrize("name", ["long_texts", "sparse", "large"])
    def test_that_cannot_be_sent(self, start, name):
        submission = start(RESULTS)
        reply, _ = submission.reply_to(name)
        assert isinstance(reply, Unusable)
        assert submission.call("fine") == 3

    def test_text_that_utf8_does_not_hold(self, start):
        reply, _ = start(RESULTS).reply_to("surrogates")
        assert isinstance(reply, Returned)

    def test_many_tensors(self, start):
        assert len(start(RESULTS).call("many_tensors")) == 4000


class TestCheckState:
    SOURCE = """
import random
import numpy, torch
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.manual_seed(1); random.seed(1); numpy.random.seed(1)
torch.use_deterministic_algorithms(True)
torch.set_default_device("meta")

def state():
    return [str(torch.get_default_dtype()), str(torch.get_default_device()),
            torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()]

def grad_mode():
    return torch.is_grad_enabled()

def numbers():
    return [torch.rand(2).tolist(), random.random(), float(numpy.random.rand())]

def disturb():
    torch.set_default_dtype(torch.float16)
    torch.set_num_threads(2)
"""

    def test_is_put_back_before_each_check(self, start):
        submission = start(self.SOURCE)
        submission.ask(BeginCheck(seed=5), Done)
        before = submission.call("state")
        assert before == ["torch.float32", "cpu", False, 1]
        assert submission.call("grad_mode") is True
        submission.call("disturb")
        assert submission.call("state") != before
        submission.ask(BeginCheck(seed=6), Done)
        assert submission.call("state") == before

    def test_random_numbers_follow_the_seed(self, start):
        submission = start(self.SOURCE)
        drawn = []
        for seed in (5, 6, 5):
            submission.ask(BeginCheck(seed=seed), Done)
            drawn.append(submission.call("numbers"))
        assert drawn[0] == drawn[2]
        assert all(a != b for a, b in zip(drawn[0], drawn[1], strict=True))
