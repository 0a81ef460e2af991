"""Files of tests, measured on toy assignments by workers that are shared."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.course.loading import load_course
from grader.owntests.measure import measure
from grader.owntests.model import Thoroughness
from grader.owntests.running import replies
from grader.processes.environment import CLEAN_ENVIRONMENT
from grader.workers.forked import ForkServer

from ..toy import make_course

SEED = 8
HANDED_IN = Path(__file__).parent / "handed_in"
COURSE = Path(__file__).parents[2]
_SERVE = """
import os, socket, sys
from grader.owntests import worker
from grader.forkserver.serving import serve
from grader.worker.serving import warm_up
from grader.session.checks import collecting
collecting.warm_up()
warm_up()
serve(socket.socket(fileno=int(sys.argv[1])), parent=os.getppid(), live=worker.live)
"""


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """A fork server as the command starts it; here in an interpreter of its own."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _SERVE, str(theirs.fileno())],
            env=CLEAN_ENVIRONMENT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
    server = ForkServer(ours, process, replies=replies)
    yield server
    server.close()


Measure = Callable[..., Thoroughness]


@pytest.fixture
def hand_in(server: ForkServer, tmp_path: Path) -> Measure:
    """Measures a text as a file of tests, by default for the toy assignment ``scale``."""

    def hand_in_one(
        text: str, *, course: dict[str, str] | None = None, **options: Any
    ) -> Thoroughness:
        root = make_course(tmp_path / "course", **(course or {}))
        tests = tmp_path / "test_mine.py"
        tests.write_text(text, "utf-8")
        assignment = load_course(root).assignments["scale"]
        return measure(assignment, tests, [server], **{"seed": SEED} | options)

    return hand_in_one


@pytest.fixture
def measure_file(server: ForkServer) -> Measure:
    """Measures a file of ``handed_in`` on an assignment of the course, on some of its faults."""

    def measure_one(assignment: str, name: str, **options: Any) -> Thoroughness:
        found = load_course(COURSE).assignments[assignment]
        path = HANDED_IN / assignment / f"{name}.py"
        return measure(found, path, [server], **{"seed": SEED} | options)

    return measure_one
