"""``grade grades``: the tables that Canvas, Moodle and Blackboard import."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from grader.batch.gradebooks import GRADEBOOKS
from grader.cli.grades import command
from grader.cli.main import grade

from .rosters import BLACKBOARD, CANVAS, GRADES, MOODLE, filled, person, points, rows


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
        ("moodle", b"PK\x03\x04" + bytes(40), "save it as CSV"),
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


TWO_ANNS = """\
Student,ID,SIS User ID,SIS Login ID,Section
"Lee, Ann",101,S1,ann@example.org,1
"Lee, Ann",102,S2,ann2@example.org,1
"Ray, Bob",103,S3,bray,1
"""


class TestIds:
    """What a platform says of a student decides before what the student can choose."""

    @pytest.mark.parametrize(
        ("platform", "field", "values"),
        [
            ("canvas", "id", ("102", "101")),
            ("gradescope", "id", ("S2", "S1")),
            ("gradescope", "email", ("ann2@example.org", "Ann@Example.org")),
            ("classroom", "login", ("ann2@example.org", "ann@example.org")),
        ],
    )
    def test_two_of_one_name_each_have_their_own(self, grades, platform, field, values):
        people = [
            person(student, platform, name="leeann", **{field: value})
            for student, value in zip(("leeann", "leeann (x)"), values, strict=True)
        ]
        done = grades("canvas", TWO_ANNS, points("leeann", "leeann (x)"), people=people)
        assert done.exit_code == 0, done.stderr
        assert filled(done) == {"102": "1", "101": "2"}

    @pytest.mark.parametrize(
        "name", ["101", "S1", "ann@example.org", "ann", "bray", "Ray, Bob", "BOB RAY", "rayBob"]
    )
    def test_who_has_an_id_is_not_who_the_name_says(self, grades, name):
        people = [person(name, "canvas", id="999"), person("bob", "canvas", id="103")]
        done = grades("canvas", TWO_ANNS, points(name, "bob"), people=people)
        assert done.exit_code == 1
        assert filled(done) == {"103": "2"}
        assert f"Not matched: {name}: has the id 999, which is not in the roster" in done.stderr

    @pytest.mark.parametrize("platform", ["moodle", "gradescope", "classroom"])
    @pytest.mark.parametrize("name", ["103", "S3", "bray"])
    def test_nor_is_a_name_an_id_or_a_login(self, grades, platform, name):
        people = [person(name, platform, id="999"), person("Bob Ray", platform, id="998")]
        done = grades("canvas", TWO_ANNS, points(name, "Bob Ray"), people=people)
        assert f"Not matched: {name}: is not in the roster" in done.stderr
        assert filled(done) == {"103": "2"}

    def test_an_id_of_another_platform_is_another_id(self, grades):
        people = [person("Ann Lee", platform, id="103") for platform in ("moodle", "classroom")]
        for one in people:
            done = grades("canvas", TWO_ANNS, points("Ann Lee"), people=[one])
            assert "Not matched: Ann Lee: fits 2 people of the roster" in done.stderr
            assert filled(done) == {}

    def test_whoever_has_the_name_loses_to_whoever_has_the_id(self, grades):
        people = [person("Bob Ray", "moodle", id="7"), person("x", "canvas", id="103")]
        done = grades("canvas", TWO_ANNS, points("Bob Ray", "x"), people=people)
        assert filled(done) == {"103": "2"}
        assert "Bob Ray: is by name the same person of the roster as x" in done.stderr

    def test_ids_that_contradict_each_other_are_nobodys(self, grades):
        people = [person("m", "gradescope", id="S1", email="ann2@example.org")]
        done = grades("canvas", TWO_ANNS, points("m"), people=people)
        assert filled(done) == {}
        assert "Not matched: m: has an id, a login or an address of different people" in done.stderr

    def test_names_that_a_table_writes_alike_keep_their_points(self, grades):
        people = [person("=Bob", "canvas", id="103"), person("Ann", "canvas", id="101")]
        graded = {"'=Bob": {"scale": "5", "shift": ""}, "Ann": {"scale": "4", "shift": ""}}
        assert filled(grades("canvas", TWO_ANNS, graded, people=people)) == {"103": "5", "101": "4"}
