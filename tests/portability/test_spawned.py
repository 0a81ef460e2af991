"""Processes that are spawned, as on macOS and Windows, give the verdicts of those that are forked."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.cli.main import run
from grader.course.loading import load_course
from grader.report.model import Report
from grader.sandbox.starting import OPTION, forks
from grader.session.client import GradingProcess
from grader.session.protocol import Job

from ..toy import make_course

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "submissions"
SEED = 5
THOROUGH = bool(os.environ.get("GRADER_SEEDS"))
"""Whether submissions to every component are graded both ways; else toys are, and one."""

Grade = Callable[..., Report]

KINDS = {
    "right": "def scale(x):\n    return 3 * x + 1\n",
    "doubled": "def scale(x):\n    return x * 2 + 1\n",
    "detached": "def scale(x):\n    print('here')\n    return x.detach() * 3 + 1\n",
    "raises": "def scale(x):\n    raise KeyError('no')\n",
    "crashes": "import os\ndef scale(x):\n    os.abort()\n",
    "leaves": "import os\ndef scale(x):\n    os._exit(0)\n",
    "never ends": "def scale(x):\n    while True: pass\n",
    "cannot be imported": "def scale(x:\n",
    "ends at import": "import sys\nsys.exit(0)\n",
    "remembers": "n = 0\ndef scale(x):\n    global n\n    n += 1\n    return 3 * x + (n < 2)\n",
}
LIMITS = "[limits]\ncheck_seconds = 2\n"


def _process(patch: pytest.MonkeyPatch, how: str) -> GradingProcess:
    patch.setenv(OPTION, how)
    assert forks() == (how == "fork")
    return GradingProcess()


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[GradingProcess, GradingProcess]]:
    """A grading process of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        forked = _process(patch, "fork")
        spawned = _process(patch, "spawn")
    with forked, spawned:
        yield forked, spawned


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = make_course(tmp_path_factory.mktemp("course"))
    with (course / "assignments" / "scale" / "assignment.toml").open("a") as described:
        described.write(LIMITS)
    return course


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


def both_verdicts(both: tuple[GradingProcess, GradingProcess], job: Job) -> list[dict[str, Any]]:
    reports = [process.grade(job) for process in both]
    assert reports[1].sandbox.level == "none"
    return [verdict(report) for report in reports]


@pytest.mark.parametrize("kind", KINDS)
def test_toys(both, toys, tmp_path, kind):
    submission = tmp_path / "scale.py"
    submission.write_text(KINDS[kind], "utf-8")
    job = Job(submission=str(submission), course=str(toys), assignment="scale", seed=SEED)
    forked, spawned = both_verdicts(both, job)
    assert spawned == forked


def submissions() -> list[tuple[str, Path]]:
    """The reference and a wrong submission of each component, or few of them."""
    components = load_course(ROOT).assignments if THOROUGH else ["masks"]
    found = []
    for component in components:
        found.append((component, ROOT / "solutions" / component / f"{component}.py"))
        expected = tomllib.loads((CORPUS / component / "expected.toml").read_text("utf-8"))
        wrong = next(name for name in expected if "misconception" in expected[name])
        found.append((component, CORPUS / component / wrong))
    return found


@pytest.mark.parametrize(("component", "path"), submissions())
def test_components(both, component, path):
    job = Job(submission=str(path), course=str(ROOT), assignment=component, seed=SEED)
    forked, spawned = both_verdicts(both, job)
    assert spawned == forked


def test_what_is_not_enforced_is_said(both, toys):
    reference = str(toys / "solutions" / "scale" / "scale.py")
    report = both[1].grade(Job(submission=reference, course=str(toys), assignment="scale", seed=1))
    assert report.sandbox.enforced == []
    assert any("Landlock" in gap for gap in report.sandbox.not_enforced)


def test_a_changed_course_is_noticed(both, tmp_path):
    course = make_course(tmp_path / "course")
    reference = course / "solutions" / "scale" / "scale.py"
    job = Job(submission=str(reference), course=str(course), assignment="scale", seed=SEED)
    before = both[1].grade(job)
    suite = course / "tests" / "hidden" / "test_scale.py"
    suite.write_text(suite.read_text("utf-8").replace("points=3", "points=7"), "utf-8")
    assert both[1].grade(job).score.possible == before.score.possible + 4


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
        assert "isolation was asked for" in said

    def test_the_doctor_says_so(self, monkeypatch, capfd):
        monkeypatch.setenv(OPTION, "spawn")
        assert run(["doctor"]) == 1
        assert "Enforced: nothing." in capfd.readouterr().out
