"""Dates and times as platforms write them."""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime, tzinfo

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\s*(\S*)")


def moment(text: str) -> datetime | None:
    """A date and time as platforms write it; without a time zone if it names none that is known."""
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    try:
        found = datetime.fromisoformat(f"{match[1]}T{match[2]}")
        return found.replace(tzinfo=_zone(match[3])) if match[3] else found
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None


def from_seconds(seconds: float) -> datetime | None:
    """The moment so many seconds after 1970; None where no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _zone(name: str) -> tzinfo:
    if name in ("Z", "UTC"):
        return UTC
    if re.fullmatch(r"[+-]\d\d:?\d\d", name):
        zone = datetime.strptime(name, "%z").tzinfo
        assert zone is not None
        return zone
    return zoneinfo.ZoneInfo(name)
