"""Real grading: warm processes shared by all tests, and copies of the course to change."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from grader.jobs import client
from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.report.model import Report

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "tests" / "hidden"
SUBMISSIONS = ROOT / "tests" / "submissions" / "attention"
SEED = 20_170_612
# Where several pytest processes share the cores, each has one to itself.
PROCESSES = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2

QUICK_LIMITS = """
[limits]
import_seconds = 1.5
check_seconds = 1.5
memory_bytes = 268435456
"""


class Grader:
    """Grades jobs in a few warm processes, one for each thread."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(PROCESSES)
        self._processes = contextlib.ExitStack()
        self._mine = threading.local()

    def submit(self, job: Job) -> Future[Report]:
        return self._pool.submit(self._grade, job)

    def __call__(
        self, submission: Path, course: Path, assignment: str = "attention", **options: object
    ) -> Report:
        """The instructor's report on a submission."""
        return self.submit(job(submission, course, assignment, **options)).result()

    def _grade(self, job: Job) -> Report:
        if not hasattr(self._mine, "process"):
            self._mine.process = self._processes.enter_context(GradingProcess())
        return self._mine.process.grade(job)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._processes.close()


def job(submission: Path, course: Path, assignment: str = "attention", **options: object) -> Job:
    options.setdefault("seed", SEED)
    return Job(submission=str(submission), course=str(course), assignment=assignment, **options)


@pytest.fixture(scope="session")
def grade() -> Iterator[Grader]:
    grader = Grader()
    yield grader
    grader.close()


@pytest.fixture
def warm(grade: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has commands that start a grading process take one that is warm already."""

    class Warm:
        def __init__(self, *, isolate: bool) -> None:
            assert not isolate

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def grade(self, job: Job, on_progress: object) -> Report:
            return grade.submit(job).result()

    monkeypatch.setattr(client, "GradingProcess", Warm)


def copy_course(to: Path, *, limits: str = "", private: bool = True) -> Path:
    """A course that holds ``attention`` alone, as the real one has it."""
    folder = to / "assignments" / "attention"
    shutil.copytree(ROOT / "assignments" / "attention", folder)
    (folder.parent / "course.toml").write_text('title = "A copy"\n')
    with (folder / "assignment.toml").open("a") as described:
        described.write(limits)
    if private:
        for name in ("attention", "shared"):
            shutil.copytree(ROOT / "solutions" / name, to / "solutions" / name)
        hidden = to / "tests" / "hidden"
        hidden.mkdir(parents=True)
        for suite in [SUITES / "test_attention.py", *SUITES.glob("support_*.py")]:
            shutil.copy(suite, hidden)
    return to


@pytest.fixture(scope="session")
def quick_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course, with limits that endless submissions reach soon."""
    return copy_course(tmp_path_factory.mktemp("quick"), limits=QUICK_LIMITS)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of the course to change."""
    return copy_course(tmp_path / "course")


@pytest.fixture
def public_course(tmp_path: Path) -> Path:
    """What a student has of the course."""
    return copy_course(tmp_path / "course", private=False)


Corpus = Callable[[str], Report]


@pytest.fixture(scope="session")
def corpus(request: pytest.FixtureRequest, grade: Grader, quick_course: Path) -> Corpus:
    """Reports on files of ``tests/submissions/attention``; all that are wanted begin at once.

    A test asks for one by its parameter ``name``. Names that end in ``*`` are graded under the
    quick limits.
    """
    wanted: dict[str, None] = {}
    for item in request.session.items:
        if "corpus" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec"):
            wanted |= dict.fromkeys(
                value for key, value in item.callspec.params.items() if key == "name"
            )
    begun = {
        name: grade.submit(
            job(SUBMISSIONS / name.rstrip("*"), quick_course if name.endswith("*") else ROOT)
        )
        for name in wanted
    }
    return lambda name: begun[name].result()


@pytest.fixture
def hand_in(tmp_path: Path) -> Callable[..., Path]:
    """Writes a submission."""

    def write(source: str, name: str = "attention.py") -> Path:
        path = tmp_path / "handed-in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, "utf-8")
        return path

    return write
