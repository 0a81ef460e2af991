"""From a batch's folder and a roster to a platform's table: what ``grade grades`` does."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from grader.batch.errors import BatchError
from grader.batch.gradebooks.gradebook import Gradebook
from grader.batch.gradebooks.matching import Matching, match
from grader.batch.gradebooks.roster import Row, read_bytes, read_table
from grader.batch.model import ClassPerson
from grader.batch.reading import GRADES, SUMMARY
from grader.report import safe
from grader.report.model import Person


class _Item(msgspec.Struct):
    id: str
    title: str
    possible: int | None


class _Summary(msgspec.Struct):
    """The part of ``summary.json`` that is needed here."""

    assignments: list[_Item]
    people: list[ClassPerson] = []


class Grades(msgspec.Struct, kw_only=True):
    """A table to import, and what to tell the instructor about it."""

    table: bytes
    matching: Matching
    other_points: list[tuple[str, float, int]]
    """Columns in which the platform has another maximum: their names, its points and ours."""


def grades_for(
    gradebook: Gradebook, folder: Path, roster: Path, *, assignment: str | None = None
) -> Grades:
    """The table to import, who is in it and who is not, and which columns have other points.

    Of one ``assignment`` alone, if it is given. Raises BatchError where the folder is no batch's,
    the roster lacks a column, or it is for one assignment and the batch has several.
    """
    graded = read_table(folder / GRADES)
    summary = _summary(folder / SUMMARY)
    items = {
        one.id: (one.title, one.possible)
        for one in summary.assignments
        if assignment in (None, one.id)
    }
    if assignment is not None and not items:
        known = ", ".join(one.id for one in summary.assignments)
        raise BatchError(f"{folder}: nothing was graded for {assignment!r}, only for {known}")
    rows = read_table(roster)
    if gradebook.is_whole(rows) and len(items) > 1:
        raise BatchError(
            f"{roster}: is the worksheet of one assignment, and {folder} has several: say which by "
            f"--assignment ID ({', '.join(items)})"
        )
    students = _students(graded, summary, assignment)
    people = gradebook.people(rows)
    matching = match(
        {student: said for student, (_, said) in students.items()},
        people,
        gradebook,
        gradebook.headings(rows),
    )
    return Grades(
        table=gradebook.render(
            rows,
            items,
            [
                (people[number], {id: students[student][0].get(id, "") for id in items})
                for student, number in sorted(matching.found.items(), key=lambda pair: pair[1])
            ],
        ),
        matching=matching,
        other_points=gradebook.other_points(rows, items),
    )


def _students(
    graded: list[dict[str, str]], summary: _Summary, assignment: str | None
) -> dict[str, tuple[Row, list[Person]]]:
    """Each student's row of the table, and what is said of them; of one assignment those of it."""
    said: dict[str, list[ClassPerson]] = defaultdict(list)
    labels = {}
    for person in summary.people:
        labels[safe.cell(person.student)] = person.student
        said[person.student].append(person)
    found: dict[str, tuple[Row, list[Person]]] = {}
    for row in graded:
        student = labels.get(row["student"]) or _unguarded(row["student"])
        people: list[Person] = [
            one for one in said[student] if assignment is None or assignment in one.assignments
        ]
        if not said[student]:
            people = [Person(student=student, name=student)]
        if people:
            found[student] = row, people
    return found


def _summary(path: Path) -> _Summary:
    try:
        return msgspec.json.decode(read_bytes(path), type=_Summary)
    except msgspec.DecodeError as error:
        raise BatchError(f"{path}: is not what `grade batch` writes ({error})") from None


def _unguarded(cell: str) -> str:
    """A name as it was before it was kept from being a formula."""
    bare = cell.removeprefix("'")
    return bare if bare != cell and not bare[:1].isalnum() else cell
