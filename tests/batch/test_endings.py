"""Batches that end early, and submissions that end what grades them: real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..toy import FILES, make_course
from .conftest import right, write

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0

SUITE = FILES["tests/hidden/test_scale.py"]
WAITS = """
import pathlib, time
def reached(x):
    # Tells the test how far it is, and goes on when the test says so.
    if float(x) == 5.0:
        pathlib.Path({here!r}, "reached").touch()
        while not pathlib.Path({here!r}, "go").exists():
            time.sleep(0.01)
"""
KILLS = """
import os, signal
def reached(x):
    if float(x) == 5.0:
        os.kill(os.getppid() if {whole} else os.getpid(), signal.SIGKILL)
        signal.pause()  # until the death of the process above reaches this one
"""
CHECK = """
@check("values", points=1, title="One is right")
def test_one(student):
    value = student.scale(torch.tensor(1.0))
    reached(value)
    assert_close(value, torch.tensor(4.0), "output")
"""
SPECIAL = "def scale(x):\n    return x * 0 + 5\n"


def command(course: Path, *words: object) -> list[str]:
    options = ["--course", str(course), "--output", "graded", "--jobs", "1", "--seed", "7"]
    return [sys.executable, "-m", "grader.cli", "batch", *map(str, words), *options]


def start(course: Path, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(course, "in"),
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def special_course(folder: Path, head: str) -> Path:
    return make_course(folder, tests_hidden_test_scale_py=SUITE + head + CHECK)


def grades(folder: Path) -> list[str]:
    """Rows without the columns that say who somebody is."""
    lines = (folder / "graded" / "grades.csv").read_text().splitlines()[1:]
    return [line.removesuffix(",,,") for line in lines]


def scores(folder: Path) -> dict[str, object]:
    """By file, what a report says that does not depend on when it was made."""
    return {
        path.name: [
            (check["id"], check["status"], check["earned"], check["message"])
            for check in json.loads(path.read_bytes())["checks"]
        ]
        for path in (folder / "graded" / "reports" / "scale").iterdir()
    }


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ended_in_the_middle_it_goes_on(tmp_path, how):
    course = special_course(tmp_path / "course", WAITS.format(here=str(tmp_path)))
    write(tmp_path / "in", {"a.py": right(), "b.py": SPECIAL, "c.py": right()})
    first = start(course, tmp_path)
    wait_for(tmp_path / "reached", first)
    if how is signal.SIGINT:
        os.killpg(first.pid, how)  # as a terminal does
        assert first.stderr is not None
        said = ""
        while "Finishing" not in said:
            line = first.stderr.readline()
            assert line
            said += line
        (tmp_path / "go").touch()
        out, _ = first.communicate(timeout=PATIENCE)
        assert first.returncode == 130
        assert "1 still to grade" in out
        assert grades(tmp_path) == ["a,7,7,graded", "b,0,0,graded", "c,,,open"]
        kept = 2
    else:
        first.kill()
        first.communicate(timeout=PATIENCE)
        (tmp_path / "go").touch()
        kept = 1
    assert len(scores(tmp_path)) == kept
    others = []
    if how is signal.SIGKILL:
        # Who comes in between takes nobody's place.
        late = [*command(course, write(tmp_path / "late", {"d/scale.py": right()}))]
        done = subprocess.run(
            late,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        others = ["d,7,7,graded"]
        assert grades(tmp_path) == ["a,7,7,graded", "b,,,open", "c,,,open", *others]
        kept += 1

    second = start(course, tmp_path)
    out, error = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0, error
    assert f"{kept} kept" in out
    assert grades(tmp_path) == ["a,7,7,graded", "b,0,0,graded", "c,7,7,graded", *others]
    resumed = scores(tmp_path)

    whole = subprocess.run(
        [*command(course, "in"), "--regrade"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert whole.returncode == 0
    assert scores(tmp_path) == resumed


@pytest.mark.parametrize("whole", [False, True], ids=["its fork", "the whole process"])
def test_submission_that_ends_its_grading_process(tmp_path, whole):
    course = special_course(tmp_path / "course", KILLS.format(whole=whole))
    write(tmp_path / "in", {"a.py": right(), "b.py": SPECIAL, "c.py": right()})
    done = start(course, tmp_path)
    out, error = done.communicate(timeout=PATIENCE)
    assert done.returncode == 0, error
    assert grades(tmp_path) == ["a,7,7,graded", "b,,,grading-failed", "c,7,7,graded"]
    assert sorted(scores(tmp_path)) == ["a.json", "c.json"]
    (failed,) = json.loads((tmp_path / "graded" / "summary.json").read_bytes())["grading_failed"]
    assert failed["student"] == "b"
    assert failed["message"].startswith("3 grading processes failed on it")
    assert "The grading failed: b (scale)" in out
