"""Draws numbers over steps or positions as lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import svg
from markupsafe import Markup

from grader.report.html.drawing import picture, text, ticks

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 14, 12, 38


class Line(NamedTuple):
    """One number for each step, drawn in the style of the class ``kind``."""

    values: Sequence[Any]
    kind: str


class Level(NamedTuple):
    """A horizontal line over the whole width."""

    value: float
    label: str


def chart(
    lines: Sequence[Line],
    *,
    steps: str,
    says: str,
    level: Level | None = None,
    width: int = 560,
    height: int = 220,
) -> Markup:
    """``lines`` over one axis called ``steps``. What is not a finite number leaves a gap."""
    known = [value for line in lines for value in line.values if _is_number(value)]
    known += [level.value] if level is not None else []
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = (high - low) * 0.06 or 0.5
    low, high = low - room, high + room
    count = max(len(line.values) for line in lines)
    right, bottom = width - _RIGHT, height - _BOTTOM

    def x_of(step: float) -> float:
        return round(_LEFT + (right - _LEFT) * step / max(1, count - 1), 1)

    def y_of(value: float) -> float:
        return round(bottom - (bottom - _TOP) * (value - low) / (high - low), 1)

    drawn: list[svg.Element] = []
    for tick in ticks(low, high, most=4):
        y = y_of(tick)
        drawn += [
            svg.Line(x1=_LEFT, x2=right, y1=y, y2=y, class_=["grid"]),
            text(_LEFT - 8, y + 4, f"{tick:g}", kind="tick", end=True),
        ]
    for tick in ticks(0, count - 1):
        if tick == int(tick):
            drawn.append(text(x_of(tick), bottom + 16, f"{tick:g}", kind="tick", middle=True))
    drawn.append(text((_LEFT + right) / 2, height - 6, steps, kind="axis", middle=True))
    if level is not None:
        y = y_of(level.value)
        drawn += [
            svg.Line(x1=_LEFT, x2=right, y1=y, y2=y, class_=["level"]),
            text(right, y - 6, level.label, kind="axis", end=True),
        ]
    for line in lines:
        for points in _runs(line.values):
            places = [svg.Point(x_of(step), y_of(value)) for step, value in points]
            drawn.append(svg.Polyline(points=places, class_=["line", line.kind]))
    return picture(drawn, width=width, height=height, says=says)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _runs(values: Sequence[Any]) -> list[list[tuple[int, float]]]:
    """The stretches of ``values`` without a gap, as (step, value)."""
    return [
        list(points)
        for is_known, points in groupby(enumerate(values), key=lambda one: _is_number(one[1]))
        if is_known
    ]
