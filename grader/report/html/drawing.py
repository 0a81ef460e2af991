"""What the drawings share: text, frame, and ticks on an axis.

Drawn with svg.py, which is pure Python without dependencies: the pages come with the base install,
and since they style what is drawn like everything else, it is light or dark, on paper or on a
screen, as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import svg
from markupsafe import Markup

from grader.report import safe


def picture(elements: Sequence[svg.Element], *, width: float, height: float, says: str) -> Markup:
    """A drawing of ``width`` by ``height`` pixels at most; ``says`` is what it shows, in words."""
    drawing = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, round(width), round(height)),
        width=round(width),
        height=round(height),
        elements=list(elements),
        extra={"role": "img", "aria-label": safe.html(says)},
    )
    return Markup(str(drawing))


def text(
    x: float, y: float, words: str, *, kind: str = "", end: bool = False, middle: bool = False
) -> svg.Text:
    """``words`` with their start, end or middle at ``x``;
    ``kind`` is a class of the style sheet."""
    return svg.Text(
        x=round(x, 1),
        y=round(y, 1),
        text=safe.html(words),
        class_=[kind] if kind else None,
        text_anchor="end" if end else "middle" if middle else None,
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, ``most`` of them or fewer, the same step apart."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def number(value: Any) -> str:
    """A number in few characters; anything else as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == int(value):
        return str(int(value))
    return f"{value:.3g}" if abs(value) >= 100 or abs(value) < 0.001 else f"{value:.3f}"
