"""``grade grades``: the tables that Canvas, Moodle and Blackboard import."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from click.testing import CliRunner

from grader.batch.gradebooks import GRADEBOOKS
from grader.cli.grades import command
from grader.cli.main import grade

GRADES = {
    "ada": {"scale": "6", "shift": "4"},
    "Grace Hopper": {"scale": "0", "shift": ""},
    "turingalan": {"scale": "3", "shift": "1"},
}

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Scale and shift (4711),Final Score
    Points Possible,,,,,6,(read only)
"Lovelace, Ada",101,S1,ada,Section 1,,
"Hopper, Grace",102,S2,ghopper,Section 1,,
"Turing, Alan",103,S3,alan,Section 2,,
"Noether, Emmy",104,S4,emmy,Section 2,,
"Student, Test",105,,,Section 1,,
"""
MOODLE = """\
First name,Last name,ID number,Email address
Ada,Lovelace,S1,ada@example.org
Grace,Hopper,S2,ghopper@example.org
Alan,Turing,S3,alan@example.org
"""
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t'
    '"Scale and shift [Total Pts: 6 Score] |99"\n'
    '"Lovelace"\t"Ada"\t"ada"\t"S1"\t""\n'
    '"Hopper"\t"Grace"\t"ghopper"\t"S2"\t""\n'
    '"Turing"\t"Alan"\t"alan"\t"S3"\t""\n'
)


@pytest.fixture
def grades(tmp_path):
    """Runs ``grade grades`` on a batch's folder with these grades."""

    def run(platform, roster, points=GRADES, *options, encoding="utf-8"):
        folder = tmp_path / "graded"
        folder.mkdir(exist_ok=True)
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["student", "scale", "shift", "total", "status"])
        for name, row in points.items():
            writer.writerow([name, row["scale"], row["shift"], "", "graded"])
        (folder / "grades.csv").write_text(text.getvalue(), "utf-8")
        items = [
            {"id": "scale", "title": "Scale and shift", "possible": 6},
            {"id": "shift", "title": "Shift alone", "possible": 4},
        ]
        (folder / "summary.json").write_text(json.dumps({"assignments": items}))
        path = tmp_path / "roster"
        path.write_bytes(roster if isinstance(roster, bytes) else roster.encode(encoding))
        words = ["grades", str(folder), "--for", platform, "--roster", str(path), *options]
        return CliRunner().invoke(grade, words)

    return run


def rows(done):
    return list(csv.reader(io.StringIO(done.stdout)))


def test_canvas(grades):
    done = grades("canvas", CANVAS)
    assert done.exit_code == 0, done.stderr
    assert rows(done) == [
        [
            *("Student", "ID", "SIS User ID", "SIS Login ID", "Section"),
            *("Scale and shift (4711)", "Shift alone"),
        ],
        ["    Points Possible", "", "", "", "", "6", "4"],
        ["Lovelace, Ada", "101", "S1", "ada", "Section 1", "6", "4"],
        ["Hopper, Grace", "102", "S2", "ghopper", "Section 1", "0", ""],
        ["Turing, Alan", "103", "S3", "alan", "Section 2", "3", "1"],
    ]
    assert "3 students matched" in done.stderr
    assert "Nothing handed in: Noether, Emmy" in done.stderr
    assert "Test" not in done.stderr


def test_moodle(grades):
    done = grades("moodle", MOODLE)
    assert done.exit_code == 0, done.stderr
    head, *people = rows(done)
    assert head == [
        *("First name", "Last name", "ID number", "Email address"),
        *("Scale and shift", "Shift alone"),
    ]
    assert people[0] == ["Ada", "Lovelace", "S1", "ada@example.org", "6", "4"]
    assert len(people) == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_blackboard(grades, encoding):
    done = grades("blackboard", BLACKBOARD, encoding=encoding)
    assert done.exit_code == 0, done.stderr
    head, *people = rows(done)
    assert head[4:] == ["Scale and shift [Total Pts: 6 Score] |99", "Shift alone"]
    assert people[1] == ["Hopper", "Grace", "ghopper", "S2", "0", ""]


@pytest.mark.parametrize(
    "name",
    ["ada", "ADA", "S1", "101", "Lovelace, Ada", "Ada Lovelace", "Lovelace Ada", "lovelaceada"],
)
def test_ways_to_name_a_student(grades, name):
    done = grades("canvas", CANVAS, {name: {"scale": "5", "shift": ""}})
    assert done.exit_code == 0, done.stderr
    assert rows(done)[2][0] == "Lovelace, Ada"


def test_names_are_compared_as_unicode_has_them_composed(grades):
    roster = MOODLE + "Jose\u0301,Nu\u0303ez,S9,jose@example.org\n"
    done = grades("moodle", roster, {"Jos\u00e9 N\u0169ez": {"scale": "1", "shift": ""}})
    assert done.exit_code == 0, done.stderr
    done = grades("moodle", "First name,Last name,Email address\nJosé,Díaz,j@x\n".encode("cp1252"))
    assert "Nothing handed in: José, Díaz, j@x" in done.stderr


def test_who_is_not_in_the_roster_is_listed(grades):
    points = {**GRADES, "=nobody": {"scale": "6", "shift": "4"}, "Section 1": GRADES["ada"]}
    done = grades("canvas", CANVAS, points)
    assert done.exit_code == 1
    assert len(rows(done)) == 5
    assert "Not matched: =nobody: is not in the roster" in done.stderr
    assert "Not matched: Section 1: is not in the roster" in done.stderr


def test_who_fits_two_people_is_listed_and_given_to_neither(grades):
    roster = MOODLE + "Grace,Hopper,S7,grace@example.org\n"
    done = grades("moodle", roster)
    assert done.exit_code == 1
    assert "Not matched: Grace Hopper: fits 2 people of the roster" in done.stderr
    assert [row[2] for row in rows(done)[1:]] == ["S1", "S3"]


def test_two_submissions_of_one_person_are_listed_and_neither_is_taken(grades):
    points = {"ada": GRADES["ada"], "Ada Lovelace": {"scale": "1", "shift": "1"}}
    done = grades("moodle", MOODLE, points)
    assert done.exit_code == 1
    assert rows(done)[1:] == []
    assert "Not matched: ada: is the same person of the roster as Ada Lovelace" in done.stderr


def test_an_identifier_decides_before_a_name(grades):
    roster = "First name,Last name,Username,Email address\nmax,ray,u1,a@x\nJo,Do,max ray,b@x\n"
    done = grades("moodle", roster, {"max ray": {"scale": "1", "shift": ""}})
    assert [row[2] for row in rows(done)[1:]] == ["max ray"]


@pytest.mark.parametrize(
    ("platform", "roster", "said"),
    [
        ("canvas", MOODLE, "the roster has no column 'Student'"),
        ("moodle", "a,b\n1,2\n", "no column 'Email address'"),
        ("blackboard", "", "holds no table"),
        ("blackboard", b"\xff\xfe", "holds no table"),
    ],
)
def test_a_wrong_roster_is_explained(grades, platform, roster, said):
    done = grades(platform, roster)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_folder_that_is_no_batchs(tmp_path):
    (tmp_path / "roster").write_text(MOODLE)
    words = ["grades", str(tmp_path), "--for", "moodle", "--roster", str(tmp_path / "roster")]
    done = CliRunner().invoke(grade, words)
    assert done.exit_code == 2
    assert "grades.csv: cannot be read" in done.stderr


def test_every_gradebook_is_offered():
    (option,) = [one for one in command.params if one.name == "platform"]
    assert list(option.type.choices) == list(GRADEBOOKS)


def test_it_can_be_written_to_a_file(grades, tmp_path):
    done = grades("moodle", MOODLE, GRADES, "--output", str(tmp_path / "out.csv"))
    assert done.exit_code == 0
    assert done.stdout == ""
    assert (tmp_path / "out.csv").read_text().startswith("First name,")


class TestOtherPoints:
    """A column of the platform's whose maximum is not ours would make nonsense of the grades."""

    @pytest.mark.parametrize(
        ("platform", "roster"),
        [
            ("canvas", CANVAS.replace(",6,(read only)", ",10.00,(read only)")),
            ("blackboard", BLACKBOARD.replace("Total Pts: 6 Score", "Total Pts: 10 Score")),
            ("blackboard", BLACKBOARD.replace("Total Pts: 6 Score", "Total Pts: up to 10 Score")),
        ],
    )
    def test_are_said_with_what_to_do(self, grades, platform, roster):
        done = grades(platform, roster)
        assert done.exit_code == 1
        assert re.search(r"Other points: 'Scale and shift.*' is out of 10", done.stderr)
        assert "Set it to 6" in done.stderr
        assert "Lovelace" in done.stdout, "the table is written all the same"

    @pytest.mark.parametrize(("platform", "roster"), [("canvas", CANVAS), ("moodle", MOODLE)])
    def test_the_same_and_unknown_ones_are_not(self, grades, platform, roster):
        done = grades(platform, roster)
        assert done.exit_code == 0, done.stderr
        assert "Other points" not in done.stderr
