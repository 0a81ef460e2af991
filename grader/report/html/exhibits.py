"""Prepares evidence for a page: a caption, pictures, and the numbers themselves."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from grader.report.html.curves import Level, Line, chart
from grader.report.html.drawing import number
from grader.report.html.heatmap import Axes, Cell, heatmap, is_one
from grader.report.matrix import Rows, first_difference, shape_of
from grader.report.model import Evidence, Shown

_MOST_TILES = 24
_MOST_TEXT = 400
_LONG = 12
"""So many positions are looked at as curves rather than as rows of numbers."""
_HUGE = 1e30
_NONE = 1e-6

_AXES: dict[Shown, Axes] = {
    "weights": Axes("queries", "keys", "q", "k"),
    "mask": Axes("queries", "keys", "q", "k"),
    "moves": Axes("logits after", "token that is changed", "", ""),
    "reach": Axes("outputs", "inputs", "", ""),
}
_PLAIN_AXES = Axes("rows", "columns", "", "")


@dataclass(frozen=True)
class Picture:
    label: str
    drawing: Markup


@dataclass(frozen=True)
class Table:
    label: str
    axes: Axes
    rows: list[list[str]]
    wrong: frozenset[Cell] = frozenset()


@dataclass(frozen=True)
class Exhibit:
    """One piece of evidence, ready for a page; a part that does not apply is empty."""

    caption: str
    note: str = ""
    said: list[str] = field(default_factory=list)
    """What the pictures show, in words."""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    """What is no array, by label."""
    telling: bool = False
    """Whether it shows a kind of mistake that is seen nowhere else: a leak, or a training."""


def exhibit(evidence: Evidence) -> Exhibit:
    """What a page shows of ``evidence``."""
    # A class makes few mistakes, and many times each: most pictures have been drawn before.
    return _drawn(
        evidence.demonstration,
        evidence.name,
        evidence.kind,
        evidence.shows,
        json.dumps(evidence.yours),
        json.dumps(evidence.expected),
    )


@lru_cache(maxsize=1024)
def _drawn(
    demonstration: str,
    name: str,
    kind: str,
    shows: Shown,
    yours_json: str,
    expected_json: str,
) -> Exhibit:
    yours, expected = json.loads(yours_json), json.loads(expected_json)
    if kind == "curve":
        return _training(name, yours, expected)
    caption = f"{name}, on the handout's example “{demonstration}”"
    mine, theirs = shape_of(yours), shape_of(expected)
    if mine is None or theirs is None:
        return Exhibit(caption, texts=[("Yours", _text(yours)), ("Expected", _text(expected))])
    note, left, right = first_difference(yours, expected, mine, theirs)
    if mine == theirs and len(left) >= _LONG and _is_numbers(right):
        return _over_positions(caption, note, left, right)
    return _matrices(shows, caption, note, left, right, comparable=mine == theirs)


def _matrices(
    shows: Shown, caption: str, note: str, yours: Rows, expected: Rows, *, comparable: bool
) -> Exhibit:
    axes = _AXES.get(shows, _PLAIN_AXES)
    wrong = _cells(yours, expected, lambda a, b: a != b) if comparable else frozenset()
    tables = [
        Table("Yours", axes, [[number(value) for value in row] for row in yours], wrong),
        Table("Expected", axes, [[number(value) for value in row] for row in expected]),
    ]
    sizes = [len(yours), len(yours[0]), len(expected), len(expected[0])]
    numbers = [abs(value) for value in itertools.chain(*yours, *expected) if _is_number(value)]
    if max(sizes) > _MOST_TILES or max(sizes) == 1 or not numbers or max(numbers) > _HUGE:
        return Exhibit(caption, note, tables=tables)
    # Weights, masks and what is reached have one scale in every picture; of the rest each has
    # the one that its numbers need.
    known = shows in _AXES
    full = max(1.0 if known else _NONE, *numbers)
    sums = shows == "weights"
    leaks = _cells(yours, expected, _leaks) if known and comparable else frozenset()
    exhibit = Exhibit(caption, note, tables=tables, telling=bool(leaks))
    says = f"{len(yours)} {axes.rows} by {len(yours[0])} {axes.columns}"
    for label, rows, marked in (("Yours", yours, leaks), ("Expected", expected, frozenset())):
        drawing = heatmap(
            rows, axes=axes, full=full, marked=marked, sums=sums, says=f"{label}: {says}"
        )
        exhibit.pictures.append(Picture(label, drawing))
    exhibit.said.extend(_words(axes, yours, leaks, sums=sums))
    if shows == "reach" and comparable:
        cut = _cells(yours, expected, lambda a, b: a == 0 and b != 0)
        paths = sum(value != 0 for row in expected for value in row)
        exhibit.said.append(f"{len(cut)} of the {paths} ways back for the gradient are cut.")
    return exhibit


def _words(axes: Axes, yours: Rows, leaks: frozenset[Cell], *, sums: bool) -> list[str]:
    said = []
    if leaks:
        places = [f"({axes.row}{row}, {axes.column}{column})" for row, column in sorted(leaks)]
        more = f" and {len(places) - 6} more" if len(places) > 6 else ""
        said.append(
            f"Outlined: {', '.join(places[:6])}{more}. Nothing should get through there, but "
            "in your code something does."
        )
    off = [row for row, values in enumerate(yours) if not is_one(values)] if sums else []
    if off:
        columns = [list(column) for column in zip(*yours, strict=True)]
        which = "Every column" if all(map(is_one, columns)) else "Not every row"
        said.append(f"{which} of yours sums to 1; every row should.")
    return said


def _over_positions(caption: str, note: str, yours: Rows, expected: Rows) -> Exhibit:
    exhibit = Exhibit(
        caption, note, said=["Solid: yours. Dashed: expected. Columns that agree are left out."]
    )
    columns = enumerate(zip(zip(*yours, strict=True), zip(*expected, strict=True), strict=True))
    for column, (mine, theirs) in columns:
        if mine != theirs:
            says = f"Column {column} over {len(mine)} positions, yours and expected"
            lines = [Line(theirs, "expected"), Line(mine, "yours")]
            drawing = chart(lines, steps="position", says=says, width=400, height=170)
            exhibit.pictures.append(Picture(f"Column {column}", drawing))
    return exhibit


def _training(name: str, losses: Any, floor: Any) -> Exhibit:
    caption = f"{name} of a training, step by step"
    known = [loss for loss in losses if _is_number(loss)] if isinstance(losses, list) else []
    if not known or max(map(abs, known)) > _HUGE:
        return Exhibit(caption, texts=[("Yours", _text(losses))])
    said = f"From {number(known[0])} to {number(known[-1])}"
    level = None
    if _is_number(floor):
        level = Level(floor, f"floor {number(floor)}")
        said += f"; no honest model gets below the floor, {number(floor)}"
    if len(known) < len(losses):
        said += "; a gap in the line marks a number that is not finite"
    drawing = chart([Line(losses, "yours")], steps="step", level=level, says=f"{caption}. {said}")
    pictures = [Picture("", drawing)]
    return Exhibit(caption, said=[f"{said}."], pictures=pictures, telling=True)


def _cells(yours: Rows, expected: Rows, differ: Any) -> frozenset[Cell]:
    return frozenset(
        (row, column)
        for row, pair in enumerate(zip(yours, expected, strict=True))
        for column, values in enumerate(zip(*pair, strict=True))
        if differ(*values)
    )


def _leaks(mine: Any, theirs: Any) -> bool:
    return _is_number(theirs) and theirs == 0 and not (_is_number(mine) and abs(mine) <= _NONE)


def _is_numbers(rows: Rows) -> bool:
    return all(_is_number(value) and abs(value) < _HUGE for row in rows for value in row)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value)
    return words if len(words) <= _MOST_TEXT else f"{words[:_MOST_TEXT]}..."
