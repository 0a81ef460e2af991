"""Draws histograms."""

from __future__ import annotations

from collections.abc import Sequence

import svg
from markupsafe import Markup

from grader.report.html.drawing import picture, text

_WIDTH, _HEIGHT = 300, 130
_TOP, _BOTTOM = 18, 34


def histogram(shares: Sequence[float], *, says: str, bins: int = 10) -> Markup:
    """How ``shares``, each from 0 to 1, are distributed over ``bins`` of equal width."""
    counts = [0] * bins
    for share in shares:
        counts[max(0, min(bins - 1, int(share * bins)))] += 1
    most = max(counts) or 1
    width, floor = _WIDTH / bins, _HEIGHT - _BOTTOM
    drawn: list[svg.Element] = [svg.Line(x1=0, x2=_WIDTH, y1=floor, y2=floor, class_=["grid"])]
    for place, count in enumerate(counts):
        height = round((floor - _TOP) * count / most, 1)
        drawn.append(
            svg.Rect(
                x=place * width + 1.5,
                y=floor - height,
                width=width - 3,
                height=height,
                class_=["pile"],
                data={"count": count},
            )
        )
        if count:
            words = str(count)
            drawn.append(text((place + 0.5) * width, floor - height - 4, words, middle=True))
    drawn += [
        text(0, floor + 16, "0 %", kind="tick"),
        text(_WIDTH / 2, floor + 16, "share of the points", kind="axis", middle=True),
        text(_WIDTH, floor + 16, "100 %", kind="tick", end=True),
    ]
    return picture(drawn, width=_WIDTH, height=_HEIGHT - 10, says=says)
