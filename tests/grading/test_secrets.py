"""What a run keeps to itself, and what it leaves where the report is to be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.jobs.client import GradingProcess

from ..toy import make_course
from .conftest import ROOT, job

RIGHT = "def scale(x):\n    return 3 * x + 1\n"
COMMAND = [sys.executable, "-m", "grader.cli", "run"]


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    return make_course(tmp_path / "course")


def descendants(pid: int) -> set[int]:
    """The processes that ``pid`` has started, those that they have, and so on."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        tasks = Path(f"/proc/{waiting.pop()}/task")
        for children in tasks.glob("*/children"):
            new = set(map(int, children.read_text().split())) - found
            found |= new
            waiting += new
    return found


def test_the_environment_of_what_grades_is_clean(toys, hand_in, monkeypatch):
    suite = toys / "tests" / "hidden" / "test_scale.py"
    place = toys / "environment.json"
    suite.write_text(
        suite.read_text()
        + "\nimport json, os, pathlib\n"
        + f"pathlib.Path({str(place)!r}).write_text(json.dumps(dict(os.environ)))\n"
    )
    for name in ("GITHUB_TOKEN", "GITHUB_ENV", "PYTHONPATH", "LD_PRELOAD_CANARY"):
        monkeypatch.setenv(name, "canary")
    with GradingProcess() as process:
        report = process.grade(job(hand_in(RIGHT, "scale.py"), toys, "scale"))
    assert report.score.earned == report.score.possible
    found = json.loads(place.read_text())
    assert "PATH" in found
    assert "canary" not in "".join(found.values())


def test_the_report_is_written_when_the_workers_are_dead(toys, hand_in, tmp_path):
    """A named pipe for the report: its reader sees who is alive when the writer comes."""
    source = "import os\nprint('worker', os.getpid())\n" + RIGHT
    place = tmp_path / "report"
    os.mkfifo(place)
    running = subprocess.Popen(
        [*COMMAND, hand_in(source, "scale.py"), "--course", toys, "--output", place],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        with place.open("rb") as pipe:
            alive = descendants(running.pid)
            report = json.loads(pipe.read())
        assert running.wait() == 0
    finally:
        running.kill()
        running.wait()
    worker = int(report["output"]["text"].split()[1])
    assert report["score"]["earned"] == report["score"]["possible"]
    assert worker not in alive
    assert not Path(f"/proc/{worker}").exists()


def test_a_seed_is_new_each_time_and_repeats_the_run(toys, hand_in, tmp_path):
    path = hand_in("def scale(x):\n    print(x.flatten()[:3])\n    return 3 * x + 1\n", "scale.py")
    seen = []
    for seed in (None, None, "again"):
        place = tmp_path / "r.json"
        options = [] if seed is None else ["--seed", str(seen[-1][0])]
        arguments = ["--course", toys, "--output", place, "--show", "instructor", *options]
        subprocess.run(
            [*COMMAND, path, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        report = json.loads(place.read_bytes())
        seen.append((report["seed"], [check["output"]["text"] for check in report["checks"]]))
    first, second, again = seen
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert again == second


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_run_that_is_killed_leaves_the_report_as_it_was(tmp_path, moment):
    place = tmp_path / "report.json"
    place.write_bytes(b"old")
    program = (
        "import os, pathlib, signal, sys\n"
        "from grader.report import files\n"
        "def kill(*_, **__): os.kill(os.getpid(), signal.SIGKILL)\n"
        "if sys.argv[2] == 'write':\n"
        "    os.fsync = lambda number: (os.ftruncate(number, 5), kill())\n"
        "elif sys.argv[2] == 'fsync':\n"
        "    os.fsync = kill\n"
        "else:\n"
        "    pathlib.Path.replace = kill\n"
        "files.write_atomically(sys.argv[1], b'new' * 1000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, place, moment], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == -signal.SIGKILL
    assert place.read_bytes() == b"old"
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".tmp"}
