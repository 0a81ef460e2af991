"""Draws a matrix: a row for each query, a column for each key, darker for more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import svg
from markupsafe import Markup

from grader.report import safe
from grader.report.html.drawing import number, picture, text

Cell = tuple[int, int]

_TILE, _SMALL_TILE = (54, 36), (24, 24)
_MOST_WITH_NUMBERS = 8
_LETTER = 6.6
"""The width of a letter of an axis, roughly."""
_TOP = 44
_SUM = 58
_MIDDLE, _STRONG = 0.45, 0.6
"""From which shares of the full colour on a number is light on dark: it depends on the theme."""


class Axes(NamedTuple):
    """What the rows and the columns of a matrix stand for, and what one of each is called."""

    rows: str
    columns: str
    row: str
    column: str


@dataclass(frozen=True)
class _Grid:
    """Where the tiles of a matrix lie, in pixels."""

    left: float
    width: int
    height: int
    with_numbers: bool

    def x(self, column: float) -> float:
        return self.left + column * self.width

    def y(self, row: float) -> float:
        return _TOP + row * self.height


def heatmap(
    rows: Sequence[Sequence[Any]],
    *,
    axes: Axes,
    full: float,
    marked: Collection[Cell] = (),
    sums: bool = False,
    says: str,
) -> Markup:
    """``rows`` of numbers as tiles, of which one of size ``full`` has the full colour.

    ``marked`` are (row, column) of the tiles to outline. With ``sums`` those of the rows stand at
    the right and those of the columns below. What is no number has no colour.
    """
    columns = len(rows[0])
    with_numbers = columns <= _MOST_WITH_NUMBERS
    grid = _Grid(
        max(52.0, _LETTER * len(axes.rows) + 12),
        *(_TILE if with_numbers else _SMALL_TILE),
        with_numbers,
    )
    drawn = _labels(grid, axes, len(rows), columns)
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            drawn += _tile(grid, (row, column), value, full)
    for cell in sorted(marked):
        drawn += _outline(grid, cell)
    width, height = grid.x(columns) + 8, grid.y(len(rows)) + 8
    if sums:
        drawn += _sums(grid, rows)
        width, height = width - 8 + _SUM, height + 22
    return picture(drawn, width=width, height=height, says=says)


def _labels(grid: _Grid, axes: Axes, rows: int, columns: int) -> list[svg.Element]:
    return [
        text(grid.x(columns / 2), 14, axes.columns, kind="axis", middle=True),
        text(2, _TOP - 10, axes.rows, kind="axis"),
        *(
            text(grid.x(at + 0.5), _TOP - 10, f"{axes.column}{at}", kind="tick", middle=True)
            for at in range(columns)
        ),
        *(
            text(grid.left - 8, grid.y(at + 0.5) + 4, f"{axes.row}{at}", kind="tick", end=True)
            for at in range(rows)
        ),
    ]


def _tile(grid: _Grid, cell: Cell, value: Any, full: float) -> list[svg.Element]:
    row, column = cell
    share = share_of(value, full)
    kind = "none" if share is None else "negative" if value < 0 else ""
    words = safe.escape(number(value))
    tile = svg.Rect(
        x=grid.x(column),
        y=grid.y(row),
        width=grid.width,
        height=grid.height,
        class_=["tile", kind],
        style=f"--share:{100 * (share or 0):.1f}%",
        data={"row": row, "column": column, "value": safe.html(words[:16])},
    )
    if not grid.with_numbers:
        return [tile]
    depth = "strong" if (share or 0) > _STRONG else "middle" if (share or 0) > _MIDDLE else ""
    x, y = grid.x(column + 0.5), grid.y(row + 0.5) + 4
    return [tile, text(x, y, words[:7], kind=f"number {depth}", middle=True)]


def _outline(grid: _Grid, cell: Cell) -> list[svg.Element]:
    """Two rings, one in each tile's own contrast: the tile may be light or dark."""
    row, column = cell
    return [
        svg.Rect(
            x=grid.x(column) + inset,
            y=grid.y(row) + inset,
            width=grid.width - 2 * inset,
            height=grid.height - 2 * inset,
            class_=[kind],
            data={"row": row, "column": column},
        )
        for kind, inset in (("leak", 2), ("inner", 4.5))
    ]


def _sums(grid: _Grid, rows: Sequence[Sequence[Any]]) -> list[svg.Element]:
    right, below = grid.x(len(rows[0])) + 10, grid.y(len(rows)) + 20
    drawn: list[svg.Element] = [
        text(right, _TOP - 10, "sum", kind="axis"),
        text(grid.left - 8, below, "sum", kind="axis", end=True),
    ]
    for row, values in enumerate(rows):
        kind = "sum" if is_one(values) else "sum wrong"
        drawn.append(text(right, grid.y(row + 0.5) + 4, _sum(values), kind=kind))
    for column, values in enumerate(zip(*rows, strict=True)):
        drawn.append(text(grid.x(column + 0.5), below, _sum(values), kind="sum", middle=True))
    return drawn


def share_of(value: Any, full: float) -> float | None:
    """The share of the full colour that ``value`` gets, 0 to 1; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(1.0, abs(value) / full)


def is_one(values: Sequence[Any]) -> bool:
    """Whether ``values`` are numbers with the sum 1, as rounded as a report's are."""
    numbers = [value for value in values if isinstance(value, int | float)]
    return len(numbers) == len(values) and abs(sum(numbers) - 1) < 1e-4 * (len(numbers) + 1)


def _sum(values: Sequence[Any]) -> str:
    numbers = [value for value in values if isinstance(value, int | float)]
    return f"{sum(numbers):.2f}" if len(numbers) == len(values) else "?"
