"""Files of tests that were written to cheat: what they can learn, forge and break."""

from __future__ import annotations

import msgspec
import pytest

from ..toy import FILES

MARKER = "canary_5e1c"
"""In the source of the reference, of every variant and so of every fault."""
MARKED = {
    "solutions_scale_scale_py": FILES["solutions/scale/scale.py"].replace("y", f"y_{MARKER}"),
    "solutions_scale_accepted_sum_py": f"{MARKER} = 1\n{FILES['solutions/scale/accepted/sum.py']}",
    "solutions_scale_faults_toml": FILES["solutions/scale/faults.toml"].replace("y", f"y_{MARKER}"),
}
LOOK = """
import builtins, gc, glob, inspect, linecache, os, sys, traceback
import pytest, torch
import scale as subject
from scale import scale

FOUND = []
BACKWARDS = "c1e5_yranac"  # forwards it would be found in this file

def note(what):
    FOUND.append(repr(what)[:100000])

def attempt(function):
    try:
        note(function())
    except BaseException as error:
        note(error)
        note(traceback.format_exception(error))

def report():
    text = "".join(FOUND)
    assert BACKWARDS not in text[::-1], text[-300 - text[::-1].index(BACKWARDS):][:600]
"""
ATTEMPTS = {
    "inspect": """
attempt(lambda: inspect.getsource(scale))
attempt(lambda: inspect.getsource(subject))
attempt(lambda: vars(subject))
attempt(lambda: scale.__code__.co_names)
attempt(lambda: scale.__globals__)
""",
    "traceback": """
for x in (None, "text", [], torch.zeros(2, dtype=torch.bool), torch.zeros(1, device="meta")):
    attempt(lambda: scale(x))
    try:
        scale(x)
    except Exception as error:
        note(vars(error))
        note(error.raised)
attempt(lambda: dict(linecache.cache))
""",
    "memory": """
for thing in gc.get_objects():
    if isinstance(thing, (str, bytes, dict, list, tuple)):
        try:
            text = repr(thing)
        except Exception:
            continue
        if BACKWARDS in text[::-1]:
            note(text)
attempt(lambda: open("/proc/self/maps").read())
attempt(lambda: open(f"/proc/{os.getppid()}/mem", "rb").read(100))
""",
    "disk": """
for place in (%(root)r, os.path.dirname(%(root)r)):
    for name in ("solutions/scale/scale.py", "solutions/scale/faults.toml"):
        attempt(lambda: open(os.path.join(place, name)).read())
    attempt(lambda: os.listdir(place))
attempt(lambda: [open(p).read() for p in glob.glob("../*/*") + glob.glob("/tmp/*/*/*.py")])
""",
    "requests": """
from grader.wire.messages import Attribute, Call, Inspect, Plain, Returned
relay = scale._transport
def ask(**fields):
    return relay.ask(Call(**fields), b"", Returned)[0]
for name in ("__dict__", "__doc__", "__code__", "_scale", "torch", "__builtins__", "__loader__"):
    attempt(lambda: ask(name=name))
for handle in range(20):
    for name in ("__globals__", "__code__", "gi_frame", "gi_code", "f_back", "f_globals"):
        attempt(lambda: relay.ask(Attribute(handle=handle, name=name), b"", Returned))
        attempt(lambda: ask(handle=handle, name=name))
    attempt(lambda: relay.ask(Inspect(handle=handle), b"", Returned))
""",
}


@pytest.mark.parametrize("how", ATTEMPTS)
def test_no_source_can_be_read(hand_in, tmp_path, how):
    attempts = ATTEMPTS[how].replace("%(root)r", repr(str(tmp_path / "course")))
    body = "".join(f"    {line}\n" for line in attempts.splitlines())
    found = hand_in(f"{LOOK}\ndef test_look():\n{body}    report()\n", course=MARKED)
    assert found.rejections == []
    assert found.valid
    assert found.caught == 0
    assert MARKER not in msgspec.json.encode(found.for_student()).decode()


def test_the_attempts_would_show_what_they_read(hand_in, tmp_path):
    attempts = ATTEMPTS["disk"].replace("%(root)r", repr(str(tmp_path / "course")))
    body = "".join(f"    {line}\n" for line in attempts.splitlines())
    found = hand_in(f"{LOOK}\ndef test_look():\n{body}    report()\n", course=MARKED, sandbox="off")
    assert MARKER in found.rejections[0].message


MODULE = {
    "assignments_scale_assignment_toml": 'title = "S"\n[exports.Scale.forward]\narguments = ["x"]\n'
    "[exports.Pair]\n",
    "solutions_scale_scale_py": f"""
import torch
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
    def stream(self):
        {MARKER} = 1
        yield {MARKER}
    def forward(self, x):
        {MARKER} = 3
        return x * {MARKER}
class Pair:
    def __init__(self):
        self.width = 2
    def twice(self, x):
        {MARKER} = 2
        return x * {MARKER}
""",
    "solutions_scale_accepted_sum_py": "",
    "solutions_scale_faults_toml": f'[four]\nedit = [["{MARKER} = 3", "{MARKER} = 4"]]\n'
    'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n',
}


def test_what_a_module_offers_leads_to_no_frame_and_no_code(hand_in):
    found = hand_in(
        LOOK.replace("from scale import scale", "from scale import Scale, Pair")
        + """
from grader.wire.messages import Attribute, Call, Handle, Returned, Convert

def test_look():
    module, pair = Scale(), Pair()
    assert pair.width == 2
    assert pair.twice(torch.ones(1)) == 2
    assert module(torch.ones(1)) == 3
    assert module.layer(torch.ones(2)).shape == (2,)
    relay, number = module._transport, module.remote_id
    reached = list(range(40))
    for name in ("stream", "forward", "named_parameters", "compile", "apply", "__dict__", "modules",
                 "_modules", "__class__", "register_forward_hook", "state_dict", "__reduce__"):
        for request in (
            Attribute(handle=number, name=name),
            Call(handle=number, name=name),
            Call(name=name),
        ):
            attempt(lambda: relay.ask(request, b"", Returned))
    for handle in reached:
        for name in ("gi_frame", "gi_code", "f_back", "f_globals", "f_locals", "f_code", "co_names",
                     "co_consts", "co_code", "__func__", "__self__", "__globals__", "__code__"):
            attempt(lambda: relay.ask(Attribute(handle=handle, name=name), b"", Returned))
            attempt(lambda: relay.ask(Call(handle=handle, name=name), b"", Returned))
        attempt(lambda: relay.ask(Call(handle=handle), b"", Returned))
        attempt(lambda: relay.ask(Convert(handle=handle), b"", Returned))
    report()
""",
        course=MODULE,
    )
    assert found.rejections == []
    assert found.valid


FORGE = """
import os, socket, sys, time, threading
import pytest, torch
from scale import scale
"""
NOTHING_GAINED = {
    "always passes": "def test_a():\n    pass\n",
    "always fails": "def test_a():\n    assert False\n",
    "leaves with 0": "def test_a():\n    os._exit(0)\n",
    "leaves when it sees a fault": "def test_a():\n    scale(torch.zeros(1)) == 1 or os._exit(1)\n",
    "leaves at import": "os._exit(0)\n",
    "raises SystemExit": "def test_a():\n    sys.exit(0)\n",
    "raises SystemExit at import": "sys.exit(0)\n",
    "keeps a note": "def test_a():\n    for place in ('note', '/tmp/note', '/dev/shm/note'):\n"
    "        try:\n            open(place, 'w').write('1')\n        except OSError:\n"
    "            continue\n        assert False, 'could write'\n",
    "kills": "def test_a():\n    try:\n        os.kill(os.getppid(), 9)\n    except OSError:\n"
    "        return\n    assert False\n",
    "forks": "def test_a():\n    try:\n        os.fork()\n    except OSError:\n        return\n"
    "    assert False\n",
    "prints a flood": "def test_a():\n    for _ in range(99):\n        print('1 passed ' * 9_999)\n"
    "        sys.stderr.write('x' * 100_000)\n",
    "says that it is done": "from grader.owntests.messages import AllEnded, Ended\n"
    "from grader.wire import frames\ndef test_a():\n    sock = scale._transport._sock\n"
    "    for word in (Ended(test='mine', outcome='failed'), AllEnded()):\n"
    "        frames.send(sock, word)\n",
    "sends rubbish": "def test_a():\n    scale._transport._sock.sendall(b'rubbish' * 1000)\n"
    "    time.sleep(60)\n",
    "answers in the subject's place": "from grader.owntests.messages import Answer\n"
    "from grader.wire import frames\nfrom grader.wire.commands import Done\n"
    "def test_a():\n    frames.send(scale._transport._sock, Done())\n    time.sleep(60)\n",
    "closes the socket": "def test_a():\n    os.close(3)\n",
    "loops": "def test_a():\n    while True:\n        pass\n",
    "asks for too much": "def test_a():\n    x = torch.zeros(1).expand(1 << 40)\n    scale(x)\n",
    "takes all memory": "def test_a():\n    x = bytearray(1 << 34)\n",
    "recurses": "def test_a():\n    test_a()\n",
}


HARMLESS = {
    "always passes",
    "keeps a note",
    "kills",
    "forks",
    "prints a flood",
    "leaves when it sees a fault",
}
"""Right answers pass them, and no fault is caught."""
SHORT = {
    "assignments_scale_assignment_toml": 'title = "S"\n[exports.scale]\narguments = ["x"]\n'
    "[limits]\nimport_seconds = 1\nmemory_bytes = 268435456\n"
}


@pytest.mark.parametrize("how", NOTHING_GAINED)
def test_nothing_is_gained_by(hand_in, how):
    text = NOTHING_GAINED[how]
    seconds = 1.0 if how == "loops" else 60.0
    found = hand_in(FORGE + text, seconds=seconds, course=SHORT)
    assert found.caught == 0, found
    assert found.valid == (how in HARMLESS)


def test_a_subject_that_hangs_is_caught_by_a_test_that_asks_it(hand_in):
    course = {
        "solutions_scale_faults_toml": '[hangs]\nedit = [["y = x * 3", "y = x * 3\\n'
        '    while True: pass"]]\nbelief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n'
    }
    found = hand_in(
        "import torch\nfrom scale import scale\ndef test_a():\n    scale(torch.ones(1))\n",
        course=course,
        seconds=3.0,
    )
    assert (found.valid, found.caught) == (True, 1)


def test_only_what_right_answers_made_a_test_say_is_shown(hand_in):
    found = hand_in(
        "import torch\nfrom scale import scale\n"
        "def pytest_generate_tests(metafunc):\n    said = scale(torch.ones(1)).item()\n"
        "    metafunc.parametrize('x', [0], ids=[f'value {said}'])\n"
        "def test_a(x):\n    assert scale(torch.ones(1)) == 4, f'it is {scale(torch.ones(1))}'\n"
    )
    assert found.caught == 2
    shown = msgspec.json.encode(found.for_student()).decode()
    assert "value" not in shown.replace('"family":"values"', "").replace("wrong numbers", "")
    assert "doubled" not in shown
    assert "Twice is enough" not in shown
