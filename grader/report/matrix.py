"""Shows two results beside each other, small enough to check by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from grader.report import safe

_MOST_ROWS = 8
_MOST_MATRICES = 4
_MOST_SHADES = 16
_CELL_WIDTH = 16
_GAP = "  "
_BETWEEN = "    "
_LABELS = ("yours", "expected")

Shape = tuple[int, ...]
Rows = list[list[Any]]
Cells = list[list[str]]


def comparison(yours: Any, expected: Any, width: int) -> list[Text]:
    """``yours`` and ``expected``, nested lists of any depth, as aligned numbers.

    Of more than two dimensions, the first matrix that differs is shown. No row of numbers is
    wider than ``width``; what does not fit is cut with an ellipsis. Empty if one is text, or
    ragged, or has no elements.
    """
    shapes = shape_of(yours), shape_of(expected)
    if shapes[0] is None or shapes[1] is None:
        return []
    note, mine, theirs = first_difference(yours, expected, shapes[0], shapes[1])
    # Three decimals, or six where three would make different numbers look the same.
    digits = 6 if mine != theirs and _cells(mine, 3) == _cells(theirs, 3) else 3
    left, right = _cells(mine, digits), _cells(theirs, digits)
    cell = max(cell_len(text) for text in itertools.chain(*left, *right))
    compared: Cells = right if shapes[0] == shapes[1] else []
    both: list[tuple[Cells, Cells]] = [(left, compared), (right, [])]

    lines = [Text(note)] if note else []
    if len(left) == len(right) == 1:
        column = max(map(len, _LABELS)) + len(_GAP)
        for label, (matrix, other) in zip(_LABELS, both, strict=True):
            row = _rows(matrix, other, cell, width - column)[0]
            lines.append(Text.assemble(label.ljust(column), row))
        return lines
    half = (width - len(_BETWEEN)) // 2
    if max(len(left[0]), len(right[0])) <= _columns(cell, half):
        return lines + _beside(_rows(left, compared, cell, half), _rows(right, [], cell, half))
    for label, (matrix, other) in zip(_LABELS, both, strict=True):
        lines += [Text(f"{label}:"), *_rows(matrix, other, cell, width)]
    return lines


def alone(value: Any, width: int) -> list[Text]:
    """``value``, nested lists of any depth, as aligned numbers, its first few matrices each."""
    shape = shape_of(value)
    if shape is None:
        return [Text(safe.escape(str(value)))]
    matrices = [(index, _cells(matrix, 3)) for index, matrix in _slices(value, shape)]
    cell = max(cell_len(text) for _, matrix in matrices for text in itertools.chain(*matrix))
    lines = []
    for index, matrix in matrices[:_MOST_MATRICES]:
        lines += [Text(f"at {list(index)}:")] if len(matrices) > 1 else []
        lines += _rows(matrix, [], cell, width)
    return [*lines, Text("...")] if len(matrices) > _MOST_MATRICES else lines


def heatmap(yours: Any, expected: Any, width: int, ramp: str) -> list[Text]:
    """Attention weights as shades, for the matrices that :func:`comparison` shows.

    A row a query, a column a key, between bars; ``ramp`` holds the shades from 0 to 1. Empty if one
    is no matrix of numbers from 0 to 1, or they do not fit in ``width``.
    """
    shapes = shape_of(yours), shape_of(expected)
    if shapes[0] is None or shapes[1] is None:
        return []
    if min(map(len, (shapes[0], shapes[1]))) < 2:
        return []
    _, *both = first_difference(yours, expected, shapes[0], shapes[1])
    pictures = [_shades(matrix, ramp) for matrix in both]
    if not all(pictures):
        return []
    lines = _beside(*pictures)
    return lines if max(line.cell_len for line in lines) <= width else []


def _shades(matrix: Rows, ramp: str) -> list[Text]:
    if max(len(matrix), len(matrix[0])) > _MOST_SHADES:
        return []
    values = list(itertools.chain(*matrix))
    # The bounds leave room for rounding; NaN is outside of them.
    if not all(isinstance(value, int | float) and -1e-6 <= value <= 1 + 1e-6 for value in values):
        return []
    last = len(ramp) - 1
    return [
        Text.assemble(
            "|",
            ("".join(2 * ramp[min(last, max(0, round(last * value)))] for value in row), "cyan"),
            "|",
        )
        for row in matrix
    ]


def shape_of(value: Any) -> Shape | None:
    """The shape of nested lists, ``()`` for one element; None for what is no full array."""
    shape: list[int] = []
    level = [value]
    while all(isinstance(item, list) for item in level):
        lengths = {len(item) for item in level}
        if len(lengths) != 1 or 0 in lengths:
            return None
        shape.append(lengths.pop())
        level = [inner for item in level for inner in item]
    text_alone = not shape and isinstance(value, str)
    return None if text_alone or any(isinstance(i, list | dict) for i in level) else tuple(shape)


def first_difference(
    yours: Any, expected: Any, mine: Shape, theirs: Shape
) -> tuple[str, Rows, Rows]:
    """A first line, and the two matrices to show: the first pair that differs.

    ``mine`` and ``theirs`` are the shapes of ``yours`` and ``expected``.
    """
    if mine != theirs:
        note = f"Yours has shape {mine}, expected is {theirs}."
        return note, next(_slices(yours, mine))[1], next(_slices(expected, theirs))[1]
    first = None
    for (index, a), (_, b) in zip(_slices(yours, mine), _slices(expected, mine), strict=True):
        if first is None or a != b:
            first = (f"At {list(index)} of shape {mine}:" if index else "", a, b)
        if a != b:
            break
    assert first is not None
    return first


def _slices(value: Any, shape: Shape) -> Iterator[tuple[Shape, Rows]]:
    """The matrices in ``value`` with their leading indices; a vector is one row."""
    rows = value if len(shape) > 1 else [value] if shape else [[value]]
    for index in itertools.product(*map(range, shape[:-2])):
        matrix = rows
        for position in index:
            matrix = matrix[position]
        yield index, matrix


def _cells(matrix: Rows, digits: int) -> Cells:
    return [[_cell(value, digits) for value in row] for row in matrix]


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        tiny = value != 0 and abs(value) < 10**-digits / 2
        return f"{value:.2e}" if tiny or abs(value) >= 1e6 else f"{value:.{digits}f}"
    text = safe.escape(value if isinstance(value, str) else json.dumps(value))
    return text if cell_len(text) <= _CELL_WIDTH else f"{text[: _CELL_WIDTH // 2 - 3]}..."


def _columns(cell: int, width: int) -> int:
    """How many cells fit."""
    return max(1, (width + len(_GAP)) // (cell + len(_GAP)))


def _rows(matrix: Cells, other: Cells, cell: int, width: int) -> list[Text]:
    """The rows of ``matrix``, cut to ``width``; cells that are not those of ``other`` stand out."""
    columns = len(matrix[0])
    if columns > _columns(cell, width):
        columns = _columns(cell, width - len(_GAP) - 3)
    lines = []
    for row, compared in itertools.zip_longest(matrix[:_MOST_ROWS], other[: len(matrix)]):
        if row is None:
            break
        line = Text()
        for column, text in enumerate(row[:columns]):
            wrong = compared is not None and compared[column] != text
            line.append((_GAP if column else "") + " " * (cell - cell_len(text)))
            line.append(text, style="bold red" if wrong else "")
        lines.append(line.append(f"{_GAP}..." if columns < len(row) else ""))
    return [*lines, Text("...")] if len(matrix) > _MOST_ROWS else lines


def _beside(left: list[Text], right: list[Text]) -> list[Text]:
    column = max(len(_LABELS[0]), *(line.cell_len for line in left))
    lines = []
    rows = itertools.zip_longest(
        [Text(_LABELS[0]), *left], [Text(_LABELS[1]), *right], fillvalue=Text()
    )
    for a, b in rows:
        padding = " " * (column - a.cell_len) + _BETWEEN if b.plain else ""
        lines.append(Text.assemble(a, padding, b))
    return lines
