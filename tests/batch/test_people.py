"""Who is who in a class: ids decide, and no name that somebody has chosen."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli.main import grade

from .conftest import Batches, right, write, wrong


def students(batch: Batches) -> list[str]:
    return [row["student"] for row in batch.table]


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


ROSTERS = {
    canvas: ("canvas", 'Student,ID\n"Lee, Ann",2011\n"Lee, Ann",2012\n'),
    moodle: (
        "moodle",
        "ID,Nom complet,Courriel,Statut,Note,Note maximale\n"
        "Participant 2011,Ann Lee,a@x.org,Remis,,6.00\n"
        "Participant 2012,Ann Lee,b@x.org,Remis,,6.00\n",
    ),
    gradescope: (
        "moodle",
        "First name,Last name,Email address\nAnn,Lee,2011@example.org\nAnn,Lee,2012@example.org\n",
    ),
    blackboard: ("blackboard", "Last Name,First Name,Username\nLee,Ann,u2011\nLee,Ann,u2012\n"),
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

    def test_two_of_one_name_get_their_own_grades(self, batch, tmp_path, platform):
        self.both(
            batch,
            tmp_path,
            platform("Ann Lee", 2011, wrong()),
            platform("Ann Lee", 2012, right()),
        )
        gradebook, roster = ROSTERS[platform]
        (tmp_path / "roster.csv").write_text(roster)
        words = ["grades", str(batch.output), "--for", gradebook, "--roster"]
        done = CliRunner().invoke(grade, [*words, str(tmp_path / "roster.csv")])
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        assert [line.endswith(",0") or ",0," in line for line in lines if "2011" in line] == [True]
        assert [line.endswith(",6") or ",6," in line for line in lines if "2012" in line] == [True]

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
