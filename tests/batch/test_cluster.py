"""``grade batch --scheduler``: a real Dask scheduler and real workers on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import right, write, wrong
from .test_endings import (
    KILLS,
    PATIENCE,
    ROOT,
    SPECIAL,
    WAITS,
    command,
    grades,
    scores,
    special_course,
    wait_for,
)

ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT),
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
}
HASTY = ENVIRONMENT | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}

# The process of Dask's below which the suite runs: the first that is none of the grader's own.
WORKER = """
import os, pathlib, signal
def dask_worker():
    pid = os.getppid()
    while b"grader.gradingprocess" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pid = int(status.split("PPid:")[1].split()[0])
    return pid
"""
TELLS = WAITS.replace('"reached").touch()', '"reached").write_text(str(dask_worker()))')
KILLS_WORKER = KILLS.replace("os.getppid() if {whole} else os.getpid()", "dask_worker()")


class Cluster:
    """A scheduler, and workers in a folder of their own."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        file = folder / "scheduler.json"
        words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self._scheduler = self._start(*words, "--scheduler-file", str(file))
        wait_for(file, self._scheduler)
        self.address: str = json.loads(file.read_bytes())["address"]

    def work(self, *options: str) -> subprocess.Popen[str]:
        words = ["worker", self.address, "--nthreads", "1", "--no-dashboard"]
        return self._start(*words, "--local-directory", str(self._folder), *options)

    def _start(self, *words: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            cwd=self._folder,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._stack.callback(started.wait)
        self._stack.callback(started.terminate)
        return started


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        yield Cluster(folder, stack)


def run(
    words: list[str], cwd: Path, env: dict[str, str] = ENVIRONMENT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE)


def reports(folder: Path) -> dict[str, object]:
    """By file, all of a report that does not depend on when it was made."""
    found = {}
    for path in (folder / "graded" / "reports" / "scale").iterdir():
        report = json.loads(path.read_bytes())
        for one in (report, *report["checks"]):
            del one["duration_s"]
        del report["started_at"]
        found[path.name] = report
    return found


def test_worker_that_is_killed_costs_nothing(cluster, tmp_path):
    course = special_course(tmp_path / "course", WORKER + TELLS.format(here=str(tmp_path)))
    helped = "from mine import three\ndef scale(x):\n    return three(x) + 1\n"
    files = {
        "ann/scale.py": right(),
        "bob/scale.py": SPECIAL,
        "cem/scale.py": wrong(),
        "dee/scale.py": "",
        "eve/scale.py": helped,
        "eve/mine.py": "def three(x):\n    return 3 * x\n",
        "fay/scale.ipynb": "{",
    }
    write(tmp_path / "in", files)
    (tmp_path / "in" / "gus").mkdir()
    (tmp_path / "in" / "gus" / "scale.py").symlink_to(course / "solutions" / "scale" / "scale.py")
    workers = [cluster.work("--no-nanny"), cluster.work("--no-nanny")]
    words = command(course, "in", "--scheduler", cluster.address)
    words[words.index("--jobs") + 1] = "2"
    batch = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path / "reached", batch)
    victim = int((tmp_path / "reached").read_text() or 0)
    assert victim in [worker.pid for worker in workers]
    os.kill(victim, signal.SIGKILL)
    (tmp_path / "go").touch()
    _, error = batch.communicate(timeout=PATIENCE)
    assert batch.returncode == 0, error
    elsewhere = reports(tmp_path)
    table = (tmp_path / "graded" / "grades.csv").read_bytes()

    here = run([*command(course, "in"), "--regrade"], tmp_path)
    assert here.returncode == 0, here.stderr
    assert reports(tmp_path) == elsewhere
    assert (tmp_path / "graded" / "grades.csv").read_bytes() == table

    again = run(words, tmp_path)
    assert "7 kept" in again.stdout, again.stderr


def test_submission_that_kills_three_workers(cluster, tmp_path):
    course = special_course(tmp_path / "course", WORKER + KILLS_WORKER)
    write(tmp_path / "in", {"a.py": right(), "b.py": SPECIAL, "c.py": right()})
    cluster.work("--nworkers", "2")  # their nannies start them again
    done = run(command(course, "in", "--scheduler", cluster.address), tmp_path)
    assert done.returncode == 0, done.stderr
    assert grades(tmp_path) == ["a,7,7,graded", "b,,,grading-failed", "c,7,7,graded"]
    assert sorted(scores(tmp_path)) == ["a.json", "c.json"]
    (failed,) = json.loads((tmp_path / "graded" / "summary.json").read_bytes())["grading_failed"]
    assert failed["message"] == (
        "3 grading processes failed on it, the last with: "
        "the cluster's worker died while grading it"
    )


class TestErrors:
    @pytest.fixture
    def batch(self, tmp_path):
        course = special_course(tmp_path / "course", "def reached(x): pass\n")
        write(tmp_path / "in", {"a.py": right()})

        def run_with(address: str, env: dict[str, str] = HASTY):
            return run(command(course, "in", "--scheduler", address), tmp_path, env)

        return run_with

    @pytest.mark.parametrize("address", ["tcp://here", "no://here:1"])
    def test_no_address(self, batch, address):
        done = batch(address)
        assert done.returncode == 2
        assert f"--scheduler {address}: " in done.stderr

    def test_nobody_answers(self, batch):
        with socket.socket() as taken:  # bound, and nobody listens
            taken.bind(("127.0.0.1", 0))
            address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
            done = batch(address)
        assert done.returncode == 3
        assert done.stderr.endswith(f"no Dask scheduler answers at {address}\n")

    def test_no_workers(self, batch, cluster):
        done = batch(cluster.address)
        assert done.returncode == 3
        assert (
            f"has no workers: start one for each core, with `dask worker {cluster.address}"
            in done.stderr
        )

    def test_another_version_on_a_worker(self, batch, cluster, tmp_path):
        (tmp_path / "older.py").write_text("import grader\ngrader.__version__ = '0.0.7'\n")
        cluster.work("--no-nanny", "--preload", str(tmp_path / "older.py"))
        done = batch(cluster.address, ENVIRONMENT)
        assert done.returncode == 3
        assert "has version 0.0.7 of the grader" in done.stderr
        assert grades(tmp_path) == ["a,,,open"]

    def test_extra_that_is_not_installed(self, batch, tmp_path):
        missing = (
            "raise ModuleNotFoundError(\"No module named 'distributed'\", name='distributed')\n"
        )
        write(tmp_path / "shadow", {"distributed.py": missing})
        path = os.pathsep.join([str(tmp_path / "shadow"), str(ROOT)])
        done = batch("tcp://127.0.0.1:1", HASTY | {"PYTHONPATH": path})
        assert done.returncode == 2
        assert "pip install 'attention-grader[cluster]'" in done.stderr
