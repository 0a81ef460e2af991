"""``grade grades``: the tables that Canvas, Moodle and Blackboard import."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata

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

    def run(platform, roster, points=GRADES, *options, encoding="utf-8", people=(), possible=6):
        folder = tmp_path / "graded"
        folder.mkdir(exist_ok=True)
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["student", "scale", "shift", "total", "status"])
        for name, row in points.items():
            writer.writerow([name, row["scale"], row["shift"], "", "graded"])
        (folder / "grades.csv").write_text(text.getvalue(), "utf-8")
        items = [
            {"id": "scale", "title": "Scale and shift", "possible": possible},
            {"id": "shift", "title": "Shift alone", "possible": 4},
        ]
        summary = {"assignments": items, "people": list(people)}
        (folder / "summary.json").write_text(json.dumps(summary))
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


def person(student, platform="", assignments=("scale", "shift"), **said):
    """Somebody of whom a platform has said that."""
    name = said.pop("name", student)
    return {
        "student": student,
        "name": name,
        "platform": platform,
        "assignments": list(assignments),
        **said,
    }


def points(*students):
    """One point for the first of them, two for the second, ..."""
    return {
        student: {"scale": str(number), "shift": ""} for number, student in enumerate(students, 1)
    }


def filled(done, key=1):
    """Points of the first assignment by what stands in the column ``key``."""
    head, *people = rows(done)
    at = next(at for at, name in enumerate(head) if name.startswith(("Scale", "Grade", "Bew")))
    return {row[key]: row[at] for row in people if row[at] and row[key]}


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


def table(*rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


LISTS = {
    "German": ["Vorname", "Nachname", "ID-Nummer", "E-Mail-Adresse", "Gruppen"],
    "French": ["Pr\u00e9nom", "Nom de famille", "Num\u00e9ro", "Adresse de courriel", "Groupes"],
    "Japanese": ["\u540d", "\u59d3", "ID", "\u30e1\u30fc\u30eb", "\u30b0\u30eb\u30fc\u30d7"],
    "English": ["First name", "Last name", "ID number", "Email address", "Groups"],
}
SHEETS = {
    "German": (
        *("ID", "Vollst\u00e4ndiger Name", "E-Mail-Adresse", "Status", "Bewertung"),
        *("Bestwertung", "Kann ge\u00e4ndert werden", "Zuletzt ge\u00e4ndert", "Teilnehmer/in"),
    ),
    "Spanish": (
        *("Identificador", "Nombre completo", "Correo", "Estatus", "Grade"),
        *("M\u00e1xima", "Modificable", "Modificada", "Participante "),
    ),
    "English": (
        *("Identifier", "Full name", "Email address", "Status", "Grade"),
        *("Maximum Grade", "Grade can be changed", "Last modified (grade)", "Participant "),
    ),
}


class TestMoodle:
    """Rosters in whatever language, encoding and shape they are exported."""

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("language", LISTS)
    def test_headings_of_any_language(self, grades, language, delimiter):
        roster = table(
            LISTS[language],
            ["\u00c4nne", "Gro\u00df", "m1", "aenne@example.org", "A"],
            ["Jo", "Ray", "m2", "jo@example.org", "A"],
            delimiter=delimiter,
        )
        done = grades("moodle", roster, points("Jo Ray", "m1"))
        assert done.exit_code == 0, done.stderr
        assert filled(done, 3) == {"aenne@example.org": "2", "jo@example.org": "1"}
        assert rows(done)[0][:4] == LISTS[language][:4]

    @pytest.mark.parametrize("full", [True, False], ids=["full name", "first name alone"])
    def test_a_first_name_is_nobodys_whole_name(self, grades, full):
        people = [["Ann Lee", "1@example.org"], ["Jo", "2@example.org"]]
        head = ["Nombre", "Correo"]
        if not full:
            people = [["Ann", "Lee", "1@example.org"], ["Jo", "Ray", "2@example.org"]]
            head = ["Nombre", "Apellidos", "Correo"]
        done = grades("moodle", table(head, *people), points("Jo"))
        assert filled(done, -3) == ({"2@example.org": "1"} if full else {})

    @pytest.mark.parametrize("language", SHEETS)
    def test_a_worksheet_is_filled_in(self, grades, language):
        *head, participant = SHEETS[language]
        ann = [f"{participant}2001", "Ann Lee", "a@x.org", "Submitted", "", "6,00", "Yes", "-"]
        other = [f"{participant}2002", "Ann Lee", "b@x.org", "Submitted", "", "6,00", "Yes", "-"]
        people = [
            person("Ann Lee", "moodle", ["scale"], id="2001"),
            person("Ann Lee", "moodle", ["shift"], id="2002"),
            person("Ann Lee (2002)", "moodle", ["scale"], name="Ann Lee", id="2002"),
        ]
        graded = points("Ann Lee", "Ann Lee (2002)")
        done = grades("moodle", table(head, ann, other), graded, people=people)
        assert done.exit_code == 2
        assert "is the worksheet of one assignment" in done.stderr
        assert "--assignment ID (scale, shift)" in done.stderr
        only = ("--assignment", "scale")
        done = grades("moodle", table(head, ann, other), graded, *only, people=people)
        assert done.exit_code == 0, done.stderr
        assert rows(done) == [
            head,
            [*ann[:4], "1", *ann[5:]],
            [*other[:4], "2", *other[5:]],
        ]

    def test_an_assignment_that_was_not_graded(self, grades):
        done = grades("moodle", MOODLE, GRADES, "--assignment", "sale")
        assert done.exit_code == 2
        assert "nothing was graded for 'sale', only for scale, shift" in done.stderr

    def test_where_names_cannot_tell_the_worksheet_is_named(self, grades):
        roster = MOODLE + "Grace,Hopper,S7,grace@example.org\n"
        people = [person("Grace Hopper", "moodle", id="7")]
        done = grades("moodle", roster, points("Grace Hopper"), people=people)
        assert "grading worksheet has the numbers that tell them apart" in done.stderr

    def test_where_nothing_can_be_told_it_says_how_to_export(self, grades):
        done = grades("moodle", "Vorname,Nachname\nAnn,Lee\n", points("Ann Lee"))
        assert done.exit_code == 2
        assert "set your language to English and export it again" in done.stderr

    def test_a_column_of_the_export_of_grades_is_filled(self, grades):
        head = ["Vorname", "Nachname", "E-Mail-Adresse", "Aufgabe: Scale and shift (Punkte)"]
        done = grades("moodle", table(head, ["Jo", "Ray", "j@x.org", "-"]), points("Jo Ray"))
        assert rows(done)[0][3] == head[3]


ODD = {
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16, the other way round": lambda text: text.encode("utf-16-be"),
    "windows": lambda text: text.encode("cp1252"),
    "marked twice": lambda text: b"\xef\xbb\xbf\xef\xbb\xbf" + text.encode(),
    "decomposed": lambda text: unicodedata.normalize("NFD", text).encode(),
    "old line ends": lambda text: text.replace("\n", "\r").encode(),
    "says its separator": lambda text: b"sep=,\r\n" + text.encode(),
    "blank rows": lambda text: b"\n\n" + text.replace("\n", "\n,,,,,\n").encode() + b"\n  \n",
    "rows twice": lambda text: text.encode() + text.partition("\n")[2].encode(),
    "quoted": lambda text: re.sub(r"[^,\n]+", r'"\g<0>"', text).encode(),
    "spaces around": lambda text: text.replace(",", " ,\u00a0").encode(),
    "rows cut short": lambda text: text.replace("m2,jo@x.org,A", "m2,jo@x.org").encode(),
    "more columns": lambda text: text.replace(",A", ',A,"a;b;c;d;e;f;g"').encode(),
    "a column twice": lambda text: text.replace("Groups", "Email address").encode(),
}


@pytest.mark.parametrize("oddity", ODD)
def test_a_roster_however_it_was_saved(grades, oddity):
    text = table(
        LISTS["English"],
        ["\u00c4nne", "Gr\u00f6\u00df", "m1", "a@x.org", "A"],
        ["Jo", "Ray", "m2", "jo@x.org", "A"],
    )
    done = grades("moodle", ODD[oddity](text), points("\u00c4nne Gr\u00f6\u00df", "Jo Ray"))
    assert done.exit_code == 0, done.stderr
    assert list(filled(done, 3).values()) == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "ours", "same"),
    [
        *((text, 1000, True) for text in ("1,000.00", "1.000,00", "1000", "1 000,00", "1'000.0")),
        *((text, 1000, True) for text in ("1.000", "1,000", "1000,00", "1\u202f000")),
        *((text, 12, False) for text in ("12.5", "12,50", "1.200,0")),
        *((text, 1000000, True) for text in ("1,000,000", "1.000.000,00")),
        *((text, 61, True) for text in ("61.00000", "61,0", "061", "61.")),
        ("1,000.00", 1, False),
        ("(read only)", 5, True),
        ("", 5, True),
    ],
)
def test_numbers_as_people_write_them(grades, text, ours, same):
    roster = CANVAS.replace(",6,(read only)", f',"{text}",(read only)')
    done = grades("canvas", roster, GRADES, possible=ours)
    assert ("Other points" not in done.stderr) == same, done.stderr


def test_rows_of_canvas_that_are_nobody(grades):
    head, possible, *people = CANVAS.splitlines()
    muted = ",,,,,Manual Posting,(read only)"
    roster = "\n".join([head, muted, possible, *people, '"Test, Student",106,,,S1,,', ""])
    done = grades("canvas", roster)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("Nothing handed in") == 1
