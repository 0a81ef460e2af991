"""From a batch's folder and a roster to a platform's table: what ``grade grades`` does."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grader.batch.errors import BatchError
from grader.batch.gradebooks.gradebook import Gradebook, Row
from grader.batch.gradebooks.matching import Matching, match
from grader.batch.reading import GRADES, SUMMARY

_MOST_BYTES = 64 * 1024 * 1024


class _Item(msgspec.Struct):
    id: str
    title: str
    possible: int | None


class _Summary(msgspec.Struct):
    """The part of ``summary.json`` that is needed here."""

    assignments: list[_Item]


class Grades(msgspec.Struct, kw_only=True):
    """A table to import, and what is to be said of it."""

    table: bytes
    matching: Matching
    other_points: list[tuple[str, float, int]]
    """Columns in which the platform has another maximum: their names, its points and ours."""


def grades_for(gradebook: Gradebook, folder: Path, roster: Path) -> Grades:
    """The table to import, who is in it and who is not, and which columns have other points.

    Raises BatchError where the folder is no batch's, or the roster lacks a column.
    """
    graded = {_unguarded(row["student"]): row for row in read_table(folder / GRADES)}
    items = _items(folder / SUMMARY)
    rows = read_table(roster)
    people = gradebook.people(rows)
    matching = match(list(graded), people, gradebook)
    scores: list[tuple[Row, Mapping[str, str]]] = []
    for student, number in sorted(matching.found.items(), key=lambda pair: pair[1]):
        points = {id: graded[student].get(id) or "" for id in items}
        scores.append((people[number], points))
    return Grades(
        table=gradebook.render(rows, items, scores),
        matching=matching,
        other_points=gradebook.other_points(rows, items),
    )


def _items(path: Path) -> dict[str, tuple[str, int | None]]:
    try:
        summary = msgspec.json.decode(_read(path), type=_Summary)
    except msgspec.DecodeError as error:
        raise BatchError(f"{path}: is not what `grade batch` writes ({error})") from None
    return {one.id: (one.title, one.possible) for one in summary.assignments}


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV or tab-separated file, in UTF-8, UTF-16 or Windows-1252, by its head."""
    data = _read(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig" if _is_utf8(data) else "cp1252"
    text = data.decode(encoding, "replace")
    head = text.partition("\n")[0]
    delimiter = max(",\t;", key=head.count)
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval=""))
    if not rows:
        raise BatchError(f"{path}: holds no table; expected a head and a row for each student")
    return [{name: row[name] for name in row if name is not None} for row in rows]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BatchError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > _MOST_BYTES:
        raise BatchError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB, which no table is")
    return data


def _unguarded(cell: str) -> str:
    """A name as it was before it was kept from being a formula."""
    bare = cell.removeprefix("'")
    return bare if bare != cell and not bare[:1].isalnum() else cell
