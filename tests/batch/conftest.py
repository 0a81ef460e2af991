"""Two toy assignments, and one warm process that every batch in this process is graded by."""

from __future__ import annotations

import csv
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from grader.cli.main import grade
from grader.jobs import kept
from grader.jobs.client import GradingProcess

from ..toy import FILES, make_course
from .rosters import Grades

RIGHT = "def {name}(x):\n    return x * 3 + 1\n"
WRONG = "def {name}(x):\n    return x * 2 + 1\n"


def right(name: str = "scale") -> str:
    return RIGHT.format(name=name)


def wrong(name: str = "scale") -> str:
    return WRONG.format(name=name)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files, by their paths below ``folder``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def in_zip(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy course, and the same assignment once more under the name ``shift``."""
    root = make_course(tmp_path_factory.mktemp("toys"))
    for name, text in FILES.items():
        if name != "assignments/course.toml" and "accepted" not in name:
            path = root / name.replace("scale", "shift")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("scale", "shift"), "utf-8")
    (root / "assignments/course.toml").write_text('title = "Toys"\norder = ["scale", "shift"]\n')
    return root


@pytest.fixture(scope="session")
def _warm() -> Iterator[GradingProcess]:
    with GradingProcess() as process:
        yield process


class Batches:
    """Runs ``grade batch`` in this process."""

    def __init__(self, course: Path, output: Path) -> None:
        self.course = course
        self.output = output
        self.graded: list[Any] = []

    def __call__(self, *arguments: object) -> Result:
        self.graded.clear()
        words = ["batch", *map(str, arguments)]
        words += ["--course", str(self.course), "--output", str(self.output)]
        return CliRunner().invoke(grade, words)

    @property
    def grades(self) -> list[dict[str, str]]:
        """The table without the columns that say who somebody is."""
        who = ("id", "login", "email")
        return [{key: row[key] for key in row if key not in who} for row in self.table]

    @property
    def table(self) -> list[dict[str, str]]:
        with (self.output / "grades.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def summary(self) -> Any:
        return json.loads((self.output / "summary.json").read_bytes())

    def report(self, name: str, assignment: str = "scale") -> Any:
        return json.loads((self.output / "reports" / assignment / f"{name}.json").read_bytes())


@pytest.fixture
def batch(
    course: Path, tmp_path: Path, _warm: GradingProcess, monkeypatch: pytest.MonkeyPatch
) -> Batches:
    batches = Batches(course, tmp_path / "graded")
    lock = threading.Lock()

    class Shared:
        def __init__(self, *, isolate: bool = False) -> None:
            pass

        def grade(self, job: Any, on_progress: Any, **options: Any) -> Any:
            with lock:
                batches.graded.append(job)
                return _warm.grade(job, on_progress, **options)

        def close(self) -> None:
            pass

    monkeypatch.setattr(kept, "GradingProcess", Shared)
    return batches


@pytest.fixture
def grades(tmp_path: Path) -> Grades:
    return Grades(tmp_path)
