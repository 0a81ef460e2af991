"""``grade watch`` in a terminal: real saves, as editors make them, and what is shown of them."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..toy import FILES, make_course

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PATIENCE = 300
"""Seconds for what takes one on an idle machine."""

HALF = "def scale(x):\n    return x * 3\n"
DOUBLED = "def scale(x):\n    return x * 2 + 1\n"
RIGHT = "def scale(x):\n    return x * 3 + 1\n"
BROKEN = "def scale(x):\n    return x * (\n"
ENDLESS = "def scale(x):\n    while True:\n        pass\n"

SECOND = {
    name.replace("scale", "again"): text.replace("scale", "again").replace("Scale", "Again")
    for name, text in FILES.items()
    if "scale" in name
}


class Terminal:
    """A pseudo-terminal in which a command runs; remembers what was printed."""

    def __init__(self, *arguments: str, cwd: Path, columns: int = 80) -> None:
        self._ours, theirs = pty.openpty()
        self._seen = 0
        self.text = ""
        environment = {key: value for key, value in os.environ.items() if key != "CI"}
        environment |= {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader.cli", *arguments],
            cwd=cwd,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            close_fds=True,
        )
        os.close(theirs)

    def wait_for(self, pattern: str) -> str:
        """Wait until something new matches ``pattern``; returns all that came until its end."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.text[self._seen :])
            if found is not None:
                came = self.text[self._seen : self._seen + found.end()]
                self._seen += found.end()
                return came
            ready, _, _ = select.select([self._ours], [], [], deadline - time.monotonic())
            assert ready, f"no {pattern!r} in {self.text[self._seen :]!r}"
            try:
                data = os.read(self._ours, 65536)
            except OSError:  # the other side is closed
                data = b""
            assert data, f"it ended without {pattern!r}: {self.text[self._seen :]!r}"
            self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode("utf-8", "replace"))

    def interrupt(self) -> int:
        """Ctrl-C, for all that runs in the terminal; the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Two assignments, ``scale`` and ``again``, both untouched."""
    root = make_course(tmp_path / "course")
    for name, text in SECOND.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (root / "assignments" / "course.toml").write_text(
        'title = "Toys"\norder = ["scale", "again"]\n'
    )
    return root


@pytest.fixture
def terminal(course: Path) -> Iterator[Terminal]:
    opened = Terminal("watch", cwd=course)
    yield opened
    opened.close()


def replace(path: Path, text: str) -> None:
    """Save as editors do that never have half a file on the disk."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def below(pid: int) -> list[int]:
    """Process descriptors of all that runs below ``pid``."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text()
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        children = [child for child, above in parents.items() if above == parent]
        found += children
        waiting += children
    descriptors = []
    for child in found:
        with contextlib.suppress(ProcessLookupError):  # a worker may be gone by now
            descriptors.append(os.pidfd_open(child))
    return descriptors


def has_ended(descriptor: int) -> bool:
    ready, _, _ = select.select([descriptor], [], [], PATIENCE)
    os.close(descriptor)
    return bool(ready)


def test_a_session_at_the_desk(terminal: Terminal, course: Path) -> None:
    stub = course / "assignments" / "scale" / "scale.py"
    terminal.wait_for(r"Scale and shift: not started, 0 of 6 points")
    terminal.wait_for("Waiting for scale.py")

    stub.write_text(HALF)
    shown = terminal.wait_for("Waiting for scale.py")
    assert re.search(r"Scale and shift: 2 of 6 points \(\+2\)", shown)
    assert "Since the last save" in shown
    assert re.search(r"ok +Gradients are right", shown)
    assert "The one is missing." in shown

    replace(stub, BROKEN)
    shown = terminal.wait_for("Waiting for scale.py")
    assert "No check can be run like this" in shown
    assert re.search(r"scale\.py:2", shown)

    stub.unlink()
    shown = terminal.wait_for("Waiting for scale.py")
    assert "could not be graded" in shown or "not gradable" in shown

    stub.write_text(DOUBLED)
    shown = terminal.wait_for("Waiting for scale.py")
    assert re.search(r"0 of 6 points \(-2\)", shown)
    assert re.search(r"Gone: +The one is missing", shown)
    assert re.search(r"New: +Your result is doubled", shown)

    replace(stub, RIGHT)
    shown = terminal.wait_for("Next: again")
    assert re.search(r"6 of 6 points \(\+6\)", shown)
    shown = terminal.wait_for("Waiting for again.py")
    assert "Again and shift: not started" in shown

    (course / "assignments" / "again" / "again.py").write_text(RIGHT.replace("scale", "again"))
    terminal.wait_for("Full marks. Press Ctrl-C to stop")

    running = below(terminal.process.pid)
    assert running
    assert terminal.interrupt() == 130
    assert all(map(has_ended, running))


def test_the_newest_save_counts(course: Path) -> None:
    stub = course / "assignments" / "scale" / "scale.py"
    stub.write_text(HALF)
    terminal = Terminal("watch", "scale", "--timeout", "100", cwd=course)
    with contextlib.closing(terminal):
        terminal.wait_for("Waiting for scale.py")
        replace(stub, ENDLESS)
        terminal.wait_for("scale")  # the bar of a grading that will not end by itself
        replace(stub, RIGHT)
        shown = terminal.wait_for("Next: again")
        assert "TIMEOUT" not in shown
        assert re.search(r"6 of 6 points \(\+4\)", shown)
        assert terminal.interrupt() == 130


def test_lines_where_there_is_no_terminal(course: Path) -> None:
    stub = course / "assignments" / "scale" / "scale.py"
    stub.write_text(RIGHT)
    with subprocess.Popen(
        [sys.executable, "-m", "grader.cli", "watch", str(stub)],
        cwd=course,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = []
        while "Full marks" not in "".join(lines):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr and process.stderr.read()
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate()
    assert not re.search(r"\x1b|\r", "".join(lines) + rest)
    assert (process.returncode, complaints.split()) == (130, ["interrupted"])
