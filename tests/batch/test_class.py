"""A class from one batch to the next: nobody is lost, and nobody becomes somebody else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.batch import local
from grader.cli.main import grade
from grader.report.files import decode
from grader.session.client import GradingError

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
        assert f"Not in the input this time, kept: {kept}\n" in done.stdout
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
        assert f"Not in this class any more, reports are in earlier/: {left}\n" in done.stdout
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
    monkeypatch.setattr(local, "GradingProcess", Ends)
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
    assert "gone or damaged, grade it again: ann (scale), bob (scale)\n" in done.stdout
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


def canvas(name: str, id: int, text: str) -> dict[str, str]:
    return {f"{name.lower().replace(' ', '')}_{id}_7_scale.py": text}


def moodle(name: str, id: int, text: str) -> dict[str, str]:
    return {f"{name}_{id}_assignsubmission_file_/scale.py": text}


def gradescope(name: str, id: int, text: str) -> dict[str, str]:
    described = (
        f"submission_{id}:\n  :submitters:\n  - :name: {name}\n    :sid: '{id}'\n"
        f"    :email: {id}@example.org\n"
    )
    return {f"submission_{id}/scale.py": text, "submission_metadata.yml": described}


def blackboard(name: str, id: int, text: str) -> dict[str, str]:
    stem = f"Scale_u{id}_attempt_2026-01-02-03-04-05"
    return {
        f"{stem}_scale.py": text,
        f"{stem}.txt": f"Name: {name} (u{id})\nAssignment: Scale\n",
    }


@pytest.mark.parametrize("platform", [canvas, moodle, gradescope, blackboard])
class TestWhoIsWho:
    def both(self, batch, tmp_path, first, second) -> Any:
        batch(write(tmp_path / "one", first), "--jobs", 1)
        return batch(write(tmp_path / "two", second), "--jobs", 1)

    def test_two_of_one_name_in_two_runs_are_two(self, batch, tmp_path, platform):
        first, second = platform("Ann Lee", 11, right()), platform("Ann Lee", 12, wrong())
        done = self.both(batch, tmp_path, first, second)
        (ann, other) = sorted(batch.table, key=lambda row: row["id"])
        assert (ann["total"], other["total"]) == ("6", "0")
        assert (ann["id"][-2:], other["id"][-2:]) == ("11", "12")
        assert other["student"].casefold() == f"{ann['student']} ({other['id']})".casefold()
        assert f"this one is called {other['student']}" in done.stderr
        # In whichever order, and together, they stay who they are.
        batch(tmp_path / "one", tmp_path / "two", "--jobs", 1)
        assert batch.graded == []
        assert [row["student"] for row in batch.table] == [ann["student"], other["student"]]

    def test_one_who_changes_the_name_stays_one(self, batch, tmp_path, platform):
        first, second = platform("Ann Lee", 11, right()), platform("Bob Ray", 11, wrong())
        self.both(batch, tmp_path, first, second)
        (ann,) = batch.table
        assert (ann["student"].replace(" ", "").lower(), ann["total"]) == ("annlee", "0")

    def test_a_name_without_an_id_is_nobody_who_has_one(self, batch, tmp_path, platform):
        name = "annlee" if platform is canvas else "Ann Lee"
        first, second = platform("Ann Lee", 11, right()), {f"{name}/scale.py": wrong()}
        self.both(batch, tmp_path, first, second)
        assert [row["total"] for row in batch.table] == ["6", "0"]
        assert batch.table[1]["student"] == f"{name} [2]"

    def test_ids_travel(self, batch, tmp_path, platform):
        batch(write(tmp_path / "in", platform("Ann Lee", 11, right())), "--jobs", 1)
        (report,) = batch.output.glob("reports/scale/*.json")
        (person,) = json.loads(report.read_bytes())["submission"]["people"]
        (listed,) = batch.summary["people"]
        assert listed == person | {"assignments": ["scale"]}
        assert person["platform"] == platform.__name__
        (written,) = batch.table
        assert {name: person[name] for name in ("student", "id", "login", "email")} == {
            name: written[name] for name in ("student", "id", "login", "email")
        }
        # Nobody's address is for students.
        shown = CliRunner().invoke(grade, ["export", str(report), "--format", "json"])
        assert shown.exit_code == 0
        told = CliRunner().invoke(grade, ["show", str(report), "--show", "student"]).output
        assert "example.org" not in told


def test_moodle_numbers_participants_anew_and_canvas_does_not(batch, tmp_path):
    for make, rows in ((moodle, 1), (canvas, 2)):
        for number, id in enumerate(("scale", "shift"), 1):
            files = {
                name.replace("scale.py", f"{id}.py"): text
                for name, text in make("Ann Lee", number, right(id)).items()
            }
            batch(write(tmp_path / make.__name__ / id, files), "--jobs", 1)
        same = [row for row in batch.table if row["student"].startswith(("Ann", "ann"))]
        assert len(same) == rows, same
        shutil.rmtree(batch.output)
    batch(tmp_path / "moodle/scale", "--jobs", 1)
    batch(tmp_path / "moodle/shift", "--jobs", 1)
    assert batch.table[0]["id"] == "scale 1; shift 2"


def test_names_that_somebody_could_take_for_one_another_are_told_apart(batch, tmp_path):
    names = ["Ann", "ANN", "\uff21nn", "Ann [2]", "Jose\u0301", "JOSÉ", "=1+1"]
    folder = write(tmp_path / "in", {f"{name}/scale.py": right() for name in names})
    done = batch(folder, "--jobs", 1)
    assert done.exit_code == 0, done.output
    called = students(batch)
    assert len({name.casefold() for name in called}) == len(names)
    files = list(batch.output.glob("reports/scale/*.json"))
    assert len({path.name.casefold() for path in files}) == len(names)
    batch(folder, "--jobs", 1)
    assert (batch.graded, students(batch)) == ([], called)


@pytest.mark.parametrize("name", ["Ann Lee (11)", "Ann Lee [2]"])
def test_nobody_is_called_as_only_the_grader_calls(batch, tmp_path, name):
    files = moodle(name, 13, wrong()) | moodle("Ann Lee", 11, right())
    batch(write(tmp_path / "in", files), "--jobs", 1)
    called = {row["id"]: (row["student"], row["total"]) for row in batch.table}
    assert called == {"11": ("Ann Lee", "6"), "13": (f"{name} (13)", "0")}
    late = moodle("Ann Lee", 12, right()) | {"Bob (she)_14_assignsubmission_file_/a.py": right()}
    batch(write(tmp_path / "late", late), "--jobs", 1)
    assert {row["id"]: row["student"] for row in batch.table} == {
        **{"11": "Ann Lee", "12": "Ann Lee (12)", "13": f"{name} (13)", "14": "Bob (she)"},
    }


def test_what_a_student_enters_is_no_formula_and_no_other_students_number(batch, tmp_path):
    described = (
        "submission_1:\n  :submitters:\n  - :name: Ann\n    :sid: '11'\n"
        "    :email: ann@example.org\nsubmission_2:\n  :submitters:\n  - :name: Mallory\n"
        "    :sid: '11'\n    :email: '=HYPERLINK(1)@example.org'\n"
    )
    files = {"submission_1/scale.py": right(), "submission_2/scale.py": wrong()}
    batch(write(tmp_path / "in", files | {"submission_metadata.yml": described}), "--jobs", 1)
    assert [(row["student"], row["total"]) for row in batch.table] == [
        ("Ann", "6"),
        ("Mallory", "0"),
    ]
    assert batch.table[1]["email"].startswith("'=")


def test_pages_without_names_are_without_ids_too(batch, tmp_path):
    batch(write(tmp_path / "in", gradescope("Ann Lee", 7531, right())), "--jobs", 1)
    batch(write(tmp_path / "again", gradescope("Ann Lee", 7531, wrong())), "--jobs", 1)
    batch(write(tmp_path / "other", blackboard("Bob Ray", 8642, wrong())), "--jobs", 1)
    assert CliRunner().invoke(grade, ["report", str(batch.output), "--anonymous"]).exit_code == 0
    pages = list((batch.output / "anonymous").rglob("*.html"))
    assert len(pages) == 3
    for page in pages:
        text = page.name + page.read_text("utf-8")
        assert not any(word in text for word in ("Ann", "Bob", "7531", "8642", "earlier/"))
