"""A batch's folder as ``grade grades`` meets it, and rosters to go with it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

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


class Grades:
    """Runs ``grade grades`` on a batch's folder with these grades."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        platform: str,
        roster: str | bytes,
        points: Any = GRADES,
        *options: str,
        encoding: str = "utf-8",
        people: Any = (),
        possible: int = 6,
    ) -> Result:
        folder = self._folder / "graded"
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
        path = self._folder / "roster"
        path.write_bytes(roster if isinstance(roster, bytes) else roster.encode(encoding))
        words = ["grades", str(folder), "--for", platform, "--roster", str(path), *options]
        return CliRunner().invoke(grade, words)


def rows(done):
    return list(csv.reader(io.StringIO(done.stdout)))


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


def table(*rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
