"""Spawned processes, as macOS and Windows have them, give the verdicts of forked ones."""

from __future__ import annotations

import contextlib
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.cli.main import run
from grader.course.loading import load_course
from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.processes.environment import OPTION, forks
from grader.report.model import Report

from ..toy import make_course

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "submissions"
SEED = 5
THOROUGH = bool(os.environ.get("GRADE_SEEDS"))
"""Whether submissions to every assignment are graded both ways, and more kinds of toys."""

RIGHT = "def scale(x):\n    return 3 * x + 1\n"
KINDS = {
    "right": RIGHT,
    "doubled": "def scale(x):\n    print('here')\n    return x * 2 + 1\n",
    "crashes": "import os\ndef scale(x):\n    os.abort()\n",
    "never ends": "def scale(x):\n    while True: pass\n",
    "cannot be imported": "def scale(x:\n",
}
MORE_KINDS = {
    "detached": "def scale(x):\n    return x.detach() * 3 + 1\n",
    "raises": "def scale(x):\n    raise KeyError('no')\n",
    "leaves": "import os\ndef scale(x):\n    os._exit(0)\n",
    "ends at import": "import sys\nsys.exit(0)\n",
    "remembers": "n = 0\ndef scale(x):\n    global n\n    n += 1\n    return 3 * x + (n < 2)\n",
}
EARNED = {"right": 6, "doubled": 0, "detached": 4, "remembers": 6}


def _process(patch: pytest.MonkeyPatch, how: str) -> GradingProcess:
    patch.setenv(OPTION, how)
    assert forks() == (how == "fork")
    return GradingProcess()


@pytest.fixture(scope="module")
def processes() -> Iterator[list[GradingProcess]]:
    """A grading process whose workers are spawned; on Linux, another whose workers are forked."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        hows = ["spawn", "fork"] if sys.platform == "linux" else ["spawn"]
        yield [stack.enter_context(_process(patch, how)) for how in hows]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_course(tmp_path_factory.mktemp("course"))


def verdict(report: Report) -> dict[str, Any]:
    """All that a report says of a submission, without how long it took and where."""
    return {
        "status": report.status,
        "score": report.score,
        "message": report.message,
        "checks": [
            (check.id, check.status, check.earned, check.message, check.hint)
            for check in report.checks
        ],
        "diagnosis": [(entry.faults, entry.message) for entry in report.diagnosis],
        "printed": report.output.text,
    }


def same_verdict(processes: list[GradingProcess], job: Job) -> Report:
    """The report of the first process; the other has to say the same."""
    report, *others = [process.grade(job) for process in processes]
    assert (report.sandbox.level, report.sandbox.enforced) == ("none", [])
    assert any("Landlock" in gap for gap in report.sandbox.not_enforced)
    for other in others:
        assert verdict(report) == verdict(other)
    return report


@pytest.mark.parametrize("kind", [*KINDS, *(MORE_KINDS if THOROUGH else [])])
def test_toys(processes, toys, tmp_path, kind):
    submission = tmp_path / "scale.py"
    submission.write_text((KINDS | MORE_KINDS)[kind], "utf-8")
    job = Job(
        submission=str(submission),
        course=str(toys),
        assignment="scale",
        seed=SEED,
        public_only=kind not in EARNED,
        check_seconds=2.0 if kind == "never ends" else None,
    )
    assert same_verdict(processes, job).score.earned == EARNED.get(kind, 0)


def submissions() -> list[tuple[str, Path]]:
    """The reference and a wrong submission of each assignment, or one of them."""
    if not THOROUGH:
        return [("heads", ROOT / "solutions" / "heads" / "heads.py")]
    found = []
    for assignment in load_course(ROOT).assignments:
        found.append((assignment, ROOT / "solutions" / assignment / f"{assignment}.py"))
        expected = tomllib.loads((CORPUS / assignment / "expected.toml").read_text("utf-8"))
        wrong = next(name for name in expected if "misconception" in expected[name])
        found.append((assignment, CORPUS / assignment / wrong))
    return found


@pytest.mark.parametrize(("assignment", "path"), submissions())
def test_assignments(processes, assignment, path):
    job = Job(submission=str(path), course=str(ROOT), assignment=assignment, seed=SEED)
    same_verdict(processes, job)


def test_a_changed_course_is_noticed(processes, tmp_path):
    """Also when the file has the size and the time that it had, as when a script saves it twice."""
    for number, process in enumerate(processes):
        course = make_course(tmp_path / str(number))
        reference = course / "solutions" / "scale" / "scale.py"
        job = Job(
            submission=str(reference),
            course=str(course),
            assignment="scale",
            seed=SEED,
            repeated=True,
        )
        suite = course / "tests" / "hidden" / "test_scale.py"
        saved = suite.stat()
        before = process.grade(job)
        suite.write_text(suite.read_text("utf-8").replace("points=3", "points=7"), "utf-8")
        os.utime(suite, ns=(saved.st_atime_ns, saved.st_mtime_ns))
        assert process.grade(job).score.possible == before.score.possible + 4


class TestWhatIsRequired:
    @pytest.fixture
    def grade(self, toys, monkeypatch, capfd):
        monkeypatch.setenv(OPTION, "spawn")
        reference = str(toys / "solutions" / "scale" / "scale.py")

        def grade(*options: str) -> tuple[int, str]:
            code = run(["run", reference, "--assignment", "scale", "--course", str(toys), *options])
            return code, capfd.readouterr().err

        return grade

    def test_a_sandbox(self, grade):
        code, said = grade("--sandbox", "require")
        assert code == 3
        assert "files closed by Landlock" in said

    def test_isolation(self, grade):
        code, said = grade("--isolate")
        assert code == 3
        assert "--isolate is not possible" in said

    def test_the_doctor_says_so(self, monkeypatch, capfd):
        monkeypatch.setenv(OPTION, "spawn")
        assert run(["doctor"]) == 1
        assert "Enforced: nothing." in capfd.readouterr().out
