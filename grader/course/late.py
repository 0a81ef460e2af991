"""Due dates and late penalties: the table ``[late]`` of ``course.toml``."""

from __future__ import annotations

import math
import zoneinfo
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from .model import Late
from .toml_file import TomlFile, nearest

EXAMPLE = "2026-03-01T23:59:00+01:00"


class _LateFile(msgspec.Struct):
    due: dict[str, Any]
    penalty_percent: float
    most_percent: float = 100.0
    grace_minutes: float = 0.0
    timezone: str = ""
    exceptions: dict[str, Any] = {}


def read_late(file: TomlFile, table: dict[str, Any], ids: Sequence[str]) -> Late:
    """The table, for a course with assignments ``ids``; raises CourseError for anything wrong."""
    described = file.struct(["late"], table, _LateFile)
    for key in ("penalty_percent", "most_percent", "grace_minutes"):
        number = getattr(described, key)
        most = 100.0 if key.endswith("percent") else 1e9
        if not 0 <= number <= most:
            raise file.error(
                ["late", key], f"found {number} for {key}; expected a number from 0 to {most:g}"
            )
    if described.timezone and described.timezone not in zoneinfo.available_timezones():
        raise file.error(
            ["late", "timezone"],
            f"found {described.timezone!r}; expected the name of a time zone, such as "
            "'Europe/Berlin' or 'UTC'",
        )
    exceptions = {
        student: _dates(file, ["late", "exceptions", student], dates, ids)
        for student, dates in described.exceptions.items()
    }
    return Late(
        due=_dates(file, ["late", "due"], described.due, ids),
        penalty_percent=described.penalty_percent,
        most_percent=described.most_percent,
        grace_minutes=described.grace_minutes,
        timezone=described.timezone,
        exceptions=exceptions,
    )


def _dates(
    file: TomlFile, place: list[str], table: object, ids: Sequence[str]
) -> dict[str, datetime]:
    if not isinstance(table, dict):
        raise file.error(
            place, f"found no table for {place[-1]}; expected a line such as attention = {EXAMPLE}"
        )
    for id, value in table.items():
        if id not in ids:
            raise file.error(
                [*place, id], f"found no assignment {id!r}; expected {nearest(id, ids)}"
            )
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise file.error(
                [*place, id],
                f"found {value} for {id}; expected a date and time with their offset from UTC, "
                f"without quotes, such as {EXAMPLE}",
            )
    return table


def days_late(handed_in: datetime, due: datetime, policy: Late) -> int:
    """How many days have begun since ``due``; 0 within the grace."""
    late = handed_in - due
    if late <= timedelta(minutes=policy.grace_minutes):
        return 0
    return math.ceil(late / timedelta(days=1))


def penalty(days: int, possible: int, policy: Late) -> int:
    """The points that ``days`` late days cost, rounded down."""
    percent = min(days * policy.penalty_percent, policy.most_percent)
    # A share that is written as 10 must not become 9.999.
    return math.floor(round(possible * percent / 100, 6))
