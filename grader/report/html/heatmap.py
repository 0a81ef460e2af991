"""A matrix as a picture: a row for each query, a column for each key, darker for more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import svg
from markupsafe import Markup

from grader.report.html.drawing import number, picture, text

Cell = tuple[int, int]

_TILE = {"wide": (54, 36), "small": (24, 24)}
_MOST_WITH_NUMBERS = 8
_LEFT = 52
_TOP = 44
_SUM = 58
_INSET = 2
_STRONG = (0.45, 0.6)
"""From which shares of the scale on a number is light on dark; the themes differ between them."""


class Axes(NamedTuple):
    """What the rows and the columns of a matrix are, and how the items of each are called."""

    rows: str
    columns: str
    row: str
    column: str


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
    width, height = _TILE["wide" if with_numbers else "small"]
    right, bottom = _LEFT + columns * width, _TOP + len(rows) * height
    drawn: list[svg.Element] = [
        text((_LEFT + right) / 2, 14, axes.columns, kind="axis", middle=True),
        text(4, _TOP - 10, axes.rows, kind="axis"),
    ]
    for column in range(columns):
        x = _LEFT + (column + 0.5) * width
        drawn.append(text(x, _TOP - 10, f"{axes.column}{column}", kind="tick", middle=True))
    for row, values in enumerate(rows):
        y = _TOP + row * height
        label = f"{axes.row}{row}"
        drawn.append(text(_LEFT - 8, y + height / 2 + 4, label, kind="tick", end=True))
        for column, value in enumerate(values):
            x = _LEFT + column * width
            drawn += _tile(x, y, width, height, value, full, (row, column), with_numbers)
    for row, column in sorted(marked):
        drawn.append(
            svg.Rect(
                x=_LEFT + column * width + _INSET,
                y=_TOP + row * height + _INSET,
                width=width - 2 * _INSET,
                height=height - 2 * _INSET,
                rx=2,
                class_=["leak"],
                data={"row": row, "column": column},
            )
        )
    if not sums:
        return picture(drawn, width=right + 8, height=bottom + 8, says=says)
    drawn += [
        text(right + 10, _TOP - 10, "sum", kind="axis"),
        text(_LEFT - 8, bottom + 20, "sum", kind="axis", end=True),
    ]
    for row, values in enumerate(rows):
        y = _TOP + (row + 0.5) * height + 4
        kind = "sum" if is_one(values) else "sum wrong"
        drawn.append(text(right + 10, y, _sum(values), kind=kind))
    for column in range(columns):
        x = _LEFT + (column + 0.5) * width
        words = _sum([values[column] for values in rows])
        drawn.append(text(x, bottom + 20, words, kind="sum", middle=True))
    return picture(drawn, width=right + _SUM, height=bottom + 30, says=says)


def _tile(
    x: float,
    y: float,
    width: float,
    height: float,
    value: Any,
    full: float,
    cell: Cell,
    with_number: bool,
) -> list[svg.Element]:
    share = share_of(value, full)
    kinds = ["tile"]
    if share is None:
        kinds.append("none")
    elif value < 0:
        kinds.append("negative")
    drawn: list[svg.Element] = [
        svg.Rect(
            x=x,
            y=y,
            width=width,
            height=height,
            class_=kinds,
            style=f"--share:{100 * (share or 0):.1f}%",
            data={"row": cell[0], "column": cell[1], "value": number(value)[:16]},
        )
    ]
    if with_number:
        middle, strong = _STRONG
        depth = "strong" if (share or 0) > strong else "middle" if (share or 0) > middle else ""
        words = number(value)[:7]
        kind = f"number {depth}"
        drawn.append(text(x + width / 2, y + height / 2 + 4, words, kind=kind, middle=True))
    return drawn


def share_of(value: Any, full: float) -> float | None:
    """How much of the full colour ``value`` has, 0 to 1; None for what is no number."""
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
