"""A class from one batch to the next: nobody is lost, and nobody becomes somebody else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli.main import grade
from grader.jobs import kept
from grader.jobs.client import GradingError
from grader.report.files import decode

from ..toy import make_course
from .conftest import Batches, right, write, wrong

CLASS = {
    "ann/scale.py": right(),
    "bob/scale.py": wrong(),
    "cem/scale.py": wrong() + "# cem\n",
    "cem/shift.py": right("shift"),
    "eve/notes.py": "x = 1\n",
}
NAMES = ["ann", "bob", "cem", "eve"]


@pytest.fixture(scope="module")
def once() -> list[Path]:
    """The class that has been graded, which every test has a copy of."""
    return []


@pytest.fixture
def graded(batch: Batches, tmp_path: Path, tmp_path_factory, once: list[Path]) -> Batches:
    """A class of four, of whom eve's file is for no assignment; with its pages."""
    if not once:
        done = batch(write(tmp_path / "first", CLASS), "--jobs", 1)
        assert done.exit_code == 0, done.output
        CliRunner().invoke(grade, ["report", str(batch.output)])
        once.append(tmp_path_factory.mktemp("class") / "graded")
        shutil.copytree(batch.output, once[0])
    shutil.copytree(once[0], batch.output, dirs_exist_ok=True)
    batch.graded.clear()
    return batch


def row(batch: Batches, student: str) -> dict[str, str]:
    (found,) = [row for row in batch.table if row["student"] == student]
    return found


def students(batch: Batches) -> list[str]:
    return [row["student"] for row in batch.table]


def said(folder: Path) -> set[tuple[str, str, int]]:
    """What all reports in a folder say, earlier ones too: assignment, files and points."""
    reports = [json.loads(path.read_bytes()) for path in folder.glob("*/*/*.json")]
    return {
        (one["assignment"]["id"], one["submission"]["digest"], one["score"]["earned"])
        for one in reports
    }


class TestALateStudent:
    def test_is_added(self, graded, tmp_path):
        before = {name: row(graded, name) for name in NAMES}
        done = graded(write(tmp_path / "late", {"dora/scale.py": right()}), "--jobs", 1)
        assert done.exit_code == 0, done.output
        assert len(graded.graded) == 1
        assert students(graded) == ["ann", "bob", "cem", "dora", "eve"]
        assert {name: row(graded, name) for name in NAMES} == before
        assert row(graded, "dora")["total"] == "6"
        summary = graded.summary
        assert summary["counts"] == {
            "students": 5,
            "submissions": 5,
            "graded": 5,
            "not_started": 0,
            "not_gradable": 0,
            "grading_failed": 0,
            "open": 0,
            "kept": 4,
        }
        assert [one["submissions"] for one in summary["assignments"]] == [4, 1]
        assert [one["student"] for one in summary["unassigned"]] == ["eve"]
        (doubled,) = summary["misconceptions"]
        assert doubled["students"] == ["bob", "cem"]
        assert [(one["student"], one["assignment"]) for one in summary["not_in_input"]] == [
            *(("ann", "scale"), ("bob", "scale"), ("cem", "scale"), ("cem", "shift"), ("eve", "")),
        ]
        kept = "ann (scale), bob (scale), cem (scale), cem (shift), eve"
        assert f"Not in the input this time, so kept: {kept}\n" in done.stdout
        page = (graded.output / "class.html").read_text("utf-8")
        assert all(f">{name}</th>" in page for name in [*NAMES, "dora"])
        assert "5 submissions kept from earlier runs" in page

    def test_is_one_of_the_class_from_then_on(self, graded, tmp_path):
        graded(write(tmp_path / "late", {"dora/scale.py": right()}), "--jobs", 1)
        done = graded(write(tmp_path / "first", CLASS), "--jobs", 1)
        assert (done.exit_code, graded.graded) == (0, [])
        assert students(graded) == ["ann", "bob", "cem", "dora", "eve"]
        assert [one["student"] for one in graded.summary["not_in_input"]] == ["dora"]

    def test_who_is_recognised_at_last_is_not_looked_for_any_more(self, graded, tmp_path):
        graded(write(tmp_path / "late", {"eve/scale.py": right()}), "--jobs", 1)
        assert row(graded, "eve")["status"] == "shift missing"
        assert graded.summary["unassigned"] == []

    def test_can_begin_the_class_anew(self, graded, tmp_path):
        before = said(graded.output)
        late = write(tmp_path / "late", {"dora/scale.py": right(), "bob/scale.py": wrong()})
        done = graded(late, "--jobs", 1, "--only-these")
        assert done.exit_code == 0, done.output
        assert len(graded.graded) == 1, "bob's report is kept"
        assert students(graded) == ["bob", "dora"]
        left = "ann (scale), cem (scale), cem (shift), eve"
        assert f"No longer in this class, reports are in earlier/: {left}\n" in done.stdout
        assert ">ann</th>" not in (graded.output / "class.html").read_text("utf-8")
        assert before <= said(graded.output)
        graded(late, "--jobs", 1)
        assert students(graded) == ["bob", "dora"]


def _broken_suite(batch: Batches, folder: Path) -> Any:
    suite = batch.course / "tests" / "hidden" / "test_scale.py"
    text = suite.read_text()
    try:
        suite.write_text(text.replace("import torch", "import nothing_of_that_name"))
        return batch(folder, "--jobs", 1)
    finally:
        suite.write_text(text)


SECOND = {
    "another assignment": ({"ann/shift.py": right("shift")}, ["--assignment", "shift"], 0),
    "other points": ({"ann/scale.py": wrong(), "bob/scale.py": right()}, [], 0),
    "nothing to grade": ({"ann/scale.py": "", "bob/scale.py": "\0"}, [], 0),
    "not begun": ({"ann/scale.py": "def scale(x):\n    raise NotImplementedError\n"}, [], 0),
    "another layout": ({"x/ann.py": wrong()}, ["--pattern", "x/{student}.py"], 0),
    "public checks": (CLASS, ["--public"], 0),
    "all again": (CLASS, ["--regrade", "--seed", "3"], 0),
    "a course that is broken": (CLASS, [], 3),
    "nothing that is understood": ({"a.txt": ""}, [], 2),
    "no such assignment": (CLASS, ["--assignment", "sale"], 2),
}


@pytest.mark.parametrize("kind", SECOND)
def test_nothing_is_lost_by_a_second_command(graded, tmp_path, kind):
    files, options, code = SECOND[kind]
    before = said(graded.output)
    folder = write(tmp_path / "second", files)
    options = [*options, "--jobs", 1]
    done = _broken_suite(graded, folder) if code == 3 else graded(folder, *options)
    assert done.exit_code == code, done.output
    assert set(NAMES) <= set(students(graded))
    assert before <= said(graded.output)
    changed = [path.name for path in graded.output.glob("earlier/*/*")]
    assert len(changed) == len(graded.summary["replaced"])
    for one in graded.summary["replaced"]:
        where = one["message"].partition("kept as ")[2]
        decode((graded.output / where).read_bytes())
        assert f"Replaced: {one['student']} ({one['assignment']}), " in done.stdout


def test_nothing_is_lost_by_another_course(graded, tmp_path):
    before = said(graded.output)
    graded.course = make_course(tmp_path / "course", assignments_course_toml='title = "Others"\n')
    done = graded(write(tmp_path / "second", {"dora.py": wrong()}), "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert row(graded, "cem")["shift"] == "6", "of an assignment that this course has not"
    assert before <= said(graded.output)


def test_a_new_state_counts_and_the_earlier_report_is_said(graded, tmp_path):
    done = graded(write(tmp_path / "second", {"ann/scale.py": ""}), "--jobs", 1)
    assert row(graded, "ann")["scale"] == ""
    assert "Replaced: ann (scale), 6 of 6 points before, kept as earlier/scale/ann." in done.stdout


def test_points_stay_while_what_was_handed_in_anew_is_still_to_grade(graded, tmp_path):
    folder = write(tmp_path / "second", {"ann/scale.py": right() + "# again\n"})
    done = _broken_suite(graded, folder)
    assert done.exit_code == 3
    assert row(graded, "ann")["scale"] == "6"
    assert row(graded, "ann")["status"] == "scale open, points of before; shift missing"
    assert graded.summary["counts"]["open"] == 1


def test_a_grading_that_fails_keeps_what_it_replaces(graded, tmp_path, monkeypatch):
    class Ends:
        def __init__(self, **_: object) -> None:
            pass

        def grade(self, *_: object, **__: object) -> None:
            raise GradingError("it ended")

        def close(self) -> None:
            pass

    before = said(graded.output)
    monkeypatch.setattr(kept, "GradingProcess", Ends)
    late = write(tmp_path / "second", {"ann/scale.py": right() + "# again\n"})
    done = graded(late, "--jobs", 1)
    assert done.exit_code == 3
    assert row(graded, "ann")["status"] == "scale grading-failed; shift missing"
    assert before <= said(graded.output)
    assert "Replaced: ann (scale), 6 of 6 points before" in done.stdout
    # So it is said of ann when somebody else is graded, too.
    graded(write(tmp_path / "third", {"dora/scale.py": right()}), "--jobs", 1)
    assert [one["student"] for one in graded.summary["grading_failed"]] == ["ann", "dora"]


def test_a_report_that_somebody_has_spoilt_is_missed(graded, tmp_path):
    (graded.output / "reports/scale/ann.json").write_bytes(b"{")
    (graded.output / "reports/scale/bob.json").unlink()
    done = graded(write(tmp_path / "late", {"dora/scale.py": right()}), "--jobs", 1)
    assert "lost or damaged; grade it again: ann (scale), bob (scale)\n" in done.stdout
    assert row(graded, "ann")["status"] == "scale report-lost; shift missing"
    graded(write(tmp_path / "first", CLASS), "--jobs", 1)
    assert row(graded, "ann")["total"] == "6"
    assert graded.summary["lost"] == []


@pytest.mark.parametrize("tables", [True, False], ids=["whole", "killed before its tables"])
def test_a_folder_of_before_there_was_a_roll(graded, tmp_path, tables):
    (graded.output / ".batch/class.json").unlink()
    for path in graded.output.glob("reports/*/*.json"):
        report = json.loads(path.read_bytes())
        del report["submission"]["people"]
        path.write_text(json.dumps(report))
    summary = graded.summary
    for name in ("people", "not_in_input", "only_these", "replaced", "lost"):
        del summary[name]
    (graded.output / "summary.json").write_text(json.dumps(summary))
    if not tables:
        (graded.output / "grades.csv").unlink()
    graded(write(tmp_path / "late", {"dora/scale.py": right()}), "--jobs", 1)
    everybody = {"ann", "bob", "cem", "dora"} | ({"eve"} if tables else set())
    assert set(students(graded)) == everybody
    # Whoever comes by the name is who it was, and has an id from then on.
    files = {"ann_5_assignsubmission_file_/scale.py": wrong()}
    graded(write(tmp_path / "in", files), "--jobs", 1)
    assert set(students(graded)) == everybody
    assert (row(graded, "ann")["id"], row(graded, "ann")["total"]) == ("5", "0")
    graded(write(tmp_path / "other", {"ann_6_assignsubmission_file_/scale.py": right()}))
    assert set(students(graded)) == everybody | {"ann (6)"}
    assert row(graded, "ann")["total"] == "0"
