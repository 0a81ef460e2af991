"""Facts about nested lists of numbers: how what somebody computed lies to what they should have."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

Numbers: TypeAlias = Any
"""Nested lists of numbers of one shape, or one number."""

RELATIVE, ABSOLUTE = 2e-3, 1e-3
"""Steps are written down with a few decimals."""

_WORDS = ("inf", "-inf", "nan")

BLOCKED = -1e8
"""A score that is lower counts as minus infinity."""


def rows(value: Numbers) -> list[list[float]]:
    """The rows along the last axis, one after another."""
    if not isinstance(value, list):
        return [[_number(value)]]
    if not any(isinstance(item, list) for item in value):
        return [[_number(item) for item in value]]
    return [row for item in value for row in rows(item)]


def shape(value: Numbers) -> tuple[int, ...]:
    """The shape of nested lists that are not ragged."""
    found = []
    while isinstance(value, list):
        found.append(len(value))
        value = value[0] if value else None
    return tuple(found)


def with_rows(value: Numbers, new: list[list[float]]) -> Numbers:
    """The rows ``new`` nested as ``value`` is."""
    waiting = iter(new)

    def build(part: Numbers) -> Numbers:
        if isinstance(part, list) and any(isinstance(item, list) for item in part):
            return [build(item) for item in part]
        row = next(waiting)
        return row if isinstance(part, list) else row[0]

    return build(value)


def close(yours: Numbers, expected: Numbers) -> bool:
    """Whether two are alike, as far as written numbers tell."""
    if shape(yours) != shape(expected):
        return False
    return all(
        _close(a, b)
        for mine, theirs in zip(rows(yours), rows(expected), strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )


def scores_behind(weights: Numbers, expected: Numbers) -> Numbers | None:
    """Scores of which softmax along the last axis makes ``weights``, moved to meet ``expected``.

    Softmax leaves the differences within a row, so each row is moved to where it meets the expected
    score that is nearest to 0. A row of NaN comes of one in which everything is blocked. None if a
    row does not sum to 1, or the shapes differ.
    """
    if shape(weights) != shape(expected):
        return None
    found = []
    for row, wanted in zip(rows(weights), rows(expected), strict=True):
        if all(map(math.isnan, row)):
            found.append([-math.inf] * len(row))
            continue
        if min(row) < -ABSOLUTE or not _close(math.fsum(row), 1.0):
            return None
        logs = [math.log(value) if value > 1e-7 else -math.inf for value in row]
        both = [j for j, log in enumerate(logs) if math.isfinite(log) and wanted[j] > BLOCKED]
        meet = min(both, key=lambda j: abs(wanted[j]), default=None)
        shift = 0.0 if meet is None else wanted[meet] - logs[meet]
        found.append([log + shift for log in logs])
    return with_rows(weights, found)


def angles_behind(turned: Numbers, expected: Numbers) -> Numbers | None:
    """Angles whose cosines and sines ``turned`` holds side by side, each by its ``expected`` one.

    An angle is told but for whole turns, of which there are as many as bring it next to what is
    expected. None if a pair has not the length 1, or there are not two numbers for each angle.
    """
    pairs, wanted = rows(turned), rows(expected)
    if [len(row) for row in pairs] != [2 * len(row) for row in wanted]:
        return None
    found = []
    for row, angles in zip(pairs, wanted, strict=True):
        both = list(zip(row[0::2], row[1::2], angles, strict=True))
        if not all(_close(math.hypot(cosine, sine), 1.0) for cosine, sine, _ in both):
            return None
        found.append(
            [angle + math.remainder(math.atan2(y, x) - angle, math.tau) for x, y, angle in both]
        )
    return with_rows(expected, found)


def same_differences(yours: Numbers, other: Numbers) -> Numbers | None:
    """``other``, if the differences within each row are those of ``yours``; else None."""
    if shape(yours) != shape(other):
        return None
    for mine, theirs in zip(rows(yours), rows(other), strict=True):
        if [a > BLOCKED for a in mine] != [b > BLOCKED for b in theirs]:
            return None
        gaps = [a - b for a, b in zip(mine, theirs, strict=True) if a > BLOCKED]
        if gaps and max(gaps) - min(gaps) > 4 * ABSOLUTE * max(1.0, *map(abs, gaps)):
            return None
    return other


def factor(yours: Numbers, expected: Numbers, *, shifted: bool = False) -> float | None:
    """The one number other than 1 that makes ``yours`` of ``expected``; None if there is none.

    At least two numbers have to bear it out. With ``shifted``, differences within rows count in the
    place of the numbers themselves.
    """
    if shape(yours) != shape(expected):
        return None
    pairs = []
    for mine, theirs in zip(rows(yours), rows(expected), strict=True):
        if [a > BLOCKED for a in mine] != [b > BLOCKED for b in theirs]:
            return None
        seen = [(a, b) for a, b in zip(mine, theirs, strict=True) if b > BLOCKED]
        if shifted and seen:
            a0, b0 = min(seen, key=lambda pair: abs(pair[1]))
            seen = [(a - a0, b - b0) for a, b in seen]
        pairs += seen
    telling = [(a, b) for a, b in pairs if abs(b) > 0.05]
    if len({round(b, 3) for _, b in telling}) < 2:
        return None
    by = math.fsum(a * b for a, b in telling) / math.fsum(b * b for _, b in telling)
    fits = all(abs(a - by * b) < 5 * ABSOLUTE * max(1.0, abs(by * b)) for a, b in pairs)
    return by if fits and not math.isclose(by, 1.0, rel_tol=5e-3) and abs(by) > 1e-3 else None


def blocked_wrongly(yours: Numbers, expected: Numbers) -> tuple[int, int] | None:
    """How many scores are open that should be blocked, and the other way round.

    None if that is not all that differs, or nothing does.
    """
    if shape(yours) != shape(expected):
        return None
    opened = closed = 0
    for mine, theirs in zip(rows(yours), rows(expected), strict=True):
        both = []
        for a, b in zip(mine, theirs, strict=True):
            opened += a > BLOCKED >= b
            closed += b > BLOCKED >= a
            if a > BLOCKED and b > BLOCKED:
                both.append(a - b)
        if both and max(both) - min(both) > 5 * ABSOLUTE:
            return None
    return (opened, closed) if opened or closed else None


def sums(value: Numbers, *, across: bool = False) -> list[float]:
    """The sum of each row, or of each column of the only matrix."""
    found = rows(value)
    lines: list[list[float]] = [list(column) for column in zip(*found, strict=True)]
    return [sum(line) for line in (lines if across else found)]


def all_ones(found: list[float]) -> bool:
    """Whether each is 1."""
    return all(_close(value, 1.0) for value in found)


def binary(value: Numbers) -> bool:
    """Whether each is 0 or 1, as in a mask."""
    return all(number in (0.0, 1.0) for row in rows(value) for number in row)


def transposed(value: Numbers) -> Numbers | None:
    """A matrix with its axes swapped; None for what is none."""
    if len(shape(value)) != 2:
        return None
    return [list(column) for column in zip(*value, strict=True)]


def scaled_by(value: Numbers, by: float) -> Numbers:
    """Each number times ``by``."""
    if isinstance(value, list):
        return [scaled_by(item, by) for item in value]
    return _number(value) * by


def as_shown(*values: Numbers) -> list[Numbers]:
    """Values that are shown beside each other, as they are written down."""
    alike = [rounded(value) for value in values]
    flat = [number for value in alike for row in rows(value) for number in row]
    finite = [number for number in flat if math.isfinite(number)]
    if any(abs(number) > 1e6 or not number.is_integer() for number in finite):
        return alike
    return [_whole(value) for value in alike]


def rounded(value: Numbers) -> Numbers:
    """Each number as it is written down; text as it is."""
    if isinstance(value, str) and value not in _WORDS:
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(_number(value), 4) + 0.0


def _whole(value: Numbers) -> Numbers:
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and math.isfinite(value) else value


def _number(value: Any) -> float:
    """A number; the words for what is not finite too."""
    return float(value) if isinstance(value, int | float) or value in _WORDS else math.nan


def _close(a: float, b: float) -> bool:
    if a <= BLOCKED or b <= BLOCKED:
        return a <= BLOCKED and b <= BLOCKED
    return a == b or abs(a - b) <= ABSOLUTE + RELATIVE * abs(b) < math.inf
