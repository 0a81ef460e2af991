"""Hides the names in a batch, so that it can be shown in class."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from grader.batch.plan import file_name
from grader.batch.reading import Entry, Graded
from grader.report.model import Output, Report

_SHORTEST = 3
"""Shorter names are words of other sentences too often to be replaced inside of them."""

_OURS = frozenset(
    {"type", "kind", "id", "assignment", "family", "faults", "status", "visibility", "because"}
)
"""What the grader names and no student: a student may be called ``failed``."""


def anonymous(graded: Graded) -> Graded:
    """``graded`` with numbers instead of names, in random order.

    What the students' code printed and how its lines read is left out, since either can hold a
    name, and so is when each was graded, which follows the alphabet.
    """
    names = list(graded.students)
    random.SystemRandom().shuffle(names)
    digits = len(str(len(names)))
    numbered = {name: f"Student {place:0{digits}}" for place, name in enumerate(names, 1)}
    hide = _hider(numbered)
    # Whose ids and addresses these are, and what is in other folders, nobody needs to see.
    bare = msgspec.structs.replace(
        graded.summary,
        found=[],
        left_out=[],
        notes=[],
        collisions=[],
        people=[],
        only_these=[],
        replaced=[],
    )
    summary = msgspec.convert(_everywhere(msgspec.to_builtins(bare), hide), type(bare))
    return Graded(
        summary=summary,
        students=sorted(numbered.values()),
        entries=[
            Entry(
                student=numbered[entry.student],
                assignment=entry.assignment,
                report=_report(entry.report, numbered[entry.student], hide),
            )
            for entry in graded.entries
        ],
        unreadable=[],
    )


def _hider(numbered: dict[str, str]) -> Callable[[str], str]:
    spelt = {}
    for name, number in numbered.items():
        for words in (name, file_name(name), name.replace(" ", "_"), name.replace(" ", "")):
            spelt[words.casefold()] = number
    long = sorted((words for words in spelt if len(words) >= _SHORTEST), key=len, reverse=True)
    if not long:
        return lambda text: spelt.get(text.casefold(), text)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, long))})(?!\w)", re.IGNORECASE)

    def hide(text: str) -> str:
        if text.casefold() in spelt:
            return spelt[text.casefold()]
        return pattern.sub(lambda match: spelt.get(match[0].casefold(), "Student"), text)

    return hide


def _everywhere(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list():
            return [_everywhere(item, change) for item in value]
        case dict():
            return {
                key: item if key in _OURS else _everywhere(item, change)
                for key, item in value.items()
            }
    return value


def _report(report: Report, number: str, hide: Callable[[str], str]) -> Report:
    submission = report.submission
    own = [submission.id, *_unlike(report, [file.name for file in submission.files])]

    def hide_own(text: str) -> str:
        for name in own:
            text = text.replace(name, number)
        return hide(text)

    checks = [
        msgspec.structs.replace(
            check,
            output=Output(),
            detail="",
            location=check.location and msgspec.structs.replace(check.location, text=""),
        )
        for check in report.checks
    ]
    bare = msgspec.structs.replace(
        report,
        checks=checks,
        output=Output(),
        started_at="",
        submission=msgspec.structs.replace(submission, id=number, files=[], people=[]),
    )
    data = msgspec.to_builtins(bare)
    for part in ("message", "notes", "checks"):
        data[part] = _everywhere(data[part], hide_own)
    return msgspec.convert(data, Report)


def _unlike(report: Report, files: Sequence[str]) -> list[str]:
    """Names of files that are not what the assignment asks for, and may be their author's."""
    asked = report.assignment.id
    return [name for name in files if name.rpartition(".")[0] != asked and len(name) >= _SHORTEST]
