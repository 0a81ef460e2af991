"""The verdict on a file of tests as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from grader.owntests.model import Thoroughness
from grader.report import safe
from grader.report.model import Audience
from grader.report.words import count

WIDTH = 80
_MESSAGE_LINES = 4


def lines(found: Thoroughness) -> list[str]:
    """The verdict first, then what it rests on. Every line is escaped."""
    return [line for text in _lines(found) for line in (safe.lines(text) if text else [""])]


def _lines(found: Thoroughness) -> Iterator[str]:
    tests = count(found.tests, "test")
    yield f"{found.title}: {tests} in {found.file}"
    yield ""
    if found.valid:
        yield f"valid     yes: all {count(found.right_answers, 'right answer')} pass"
        yield f"thorough  {found.caught} of {count(found.faults, 'fault')} caught"
    else:
        yield "valid     no"
        yield "thorough  not counted until the tests are valid"
    if found.score is not None:
        yield f"score     {found.score.earned} / {found.score.possible}"
    if found.message:
        yield ""
        yield from textwrap.wrap(found.message, WIDTH)
    if found.rejections:
        yield ""
        yield "These tests reject right answers:"
        for rejection in found.rejections:
            yield from _rejection(found, rejection.test)
    missed = [kind for kind in found.kinds if kind.caught < kind.faults]
    if missed:
        yield ""
        yield "Your tests would miss:"
        for kind in missed:
            yield f"- {kind.words} ({kind.faults - kind.caught} of {kind.faults})"
    if found.audience is Audience.INSTRUCTOR:
        yield from _details(found)


def _rejection(found: Thoroughness, test: str) -> Iterator[str]:
    rejection = next(one for one in found.rejections if one.test == test)
    where = f", line {rejection.line}" if rejection.line else ""
    yield f"- {test}{where}: {rejection.rejects} of {found.right_answers}"
    said = rejection.message.splitlines()
    yield from (f"    {line}" for line in said[:_MESSAGE_LINES])
    if len(said) > _MESSAGE_LINES:
        yield "    ..."
    if rejection.answers:
        yield f"    (rejected: {', '.join(rejection.answers)})"


def _details(found: Thoroughness) -> Iterator[str]:
    missed = [entry for entry in found.details if not entry.caught_by]
    if missed:
        yield ""
        yield "Faults that were not caught (for instructors):"
        for entry in missed:
            problem = f" [{entry.problem}]" if entry.problem else ""
            yield f"- {entry.slug}: {entry.belief}{problem}"
