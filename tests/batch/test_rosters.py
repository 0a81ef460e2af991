"""Rosters as platforms and spreadsheets write them: every language, encoding and shape."""

from __future__ import annotations

import re
import unicodedata

import pytest

from .rosters import CANVAS, GRADES, MOODLE, filled, person, points, rows, table

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
