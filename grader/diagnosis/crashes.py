"""What the common crashes mean, in words that a student can act on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec


class Crash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of crash: how it is recognised, and what to say."""

    words: str
    hint: str
    type: str = "Exception"
    message: str = ""
    line: str = ""


def explain(types: Sequence[str], message: str, line: str) -> Crash | None:
    """The first kind that fits an error: its type and bases, its message, the student's line."""
    for crash in _catalogue():
        if (
            (crash.type == "Exception" or crash.type in types)
            and re.search(crash.message, message[:2000])
            and re.search(crash.line, line)
        ):
            return crash
    return None


@cache
def _catalogue() -> list[Crash]:
    text = files("grader.diagnosis").joinpath("crashes.toml").read_text("utf-8")
    return [msgspec.convert(entry, Crash) for entry in tomllib.loads(text).values()]
