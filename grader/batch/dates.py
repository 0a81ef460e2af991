"""Dates and times as platforms write them."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, time, tzinfo


def moment(text: str) -> datetime | None:
    """A date and time as platforms write it; without a time zone if it names none.

    That is as ISO 8601 has it, or with the time zone's offset or name after a space.
    """
    when, _, zone = text.strip().rpartition(" ")
    try:
        found = _iso(text.strip()) or _in_zone(when, zone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
    return found.replace(microsecond=0)  # nobody is late by less than a second


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def from_seconds(seconds: float) -> datetime | None:
    """The time ``seconds`` after 1970; None if no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _in_zone(when: str, zone: str) -> datetime:
    return datetime.fromisoformat(when.rstrip()).replace(tzinfo=_zone(zone))


def _zone(name: str) -> tzinfo | None:
    if name == "UTC":
        return UTC  # which Windows knows too
    if name[:1] in ("Z", "+", "-"):
        return time.fromisoformat(f"00:00{name}").tzinfo
    return zoneinfo.ZoneInfo(name)
