"""Gradescope's export: ``submission_N/`` folders and ``submission_metadata.yml``."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.batch.class_folder import ClassFolder, HandIn, Reading
from grader.batch.dates import moment
from grader.batch.unpacking import GRADESCOPE_METADATA as METADATA

TITLE = "a Gradescope export (submission_metadata.yml)"
ORDER = 10

_SUBMISSION = re.compile(r"""['"]?:?(submission_(\d{1,18}))['"]?:\s*""")
_FIELD = re.compile(r"( *)(- )?:?([a-z_]+):(?: +(.*))?")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0"},
    **{"L": "\u2028", "P": "\u2029"},
}
_MOST_LINES = 100
"""Of one value."""


class _Submitted(msgspec.Struct):
    number: int
    created_at: str = ""
    people: list[dict[str, str]] = []


def find(class_folder: ClassFolder) -> Reading:
    """One for each submitter, so that a group's members each have their own."""
    path = class_folder.path / METADATA
    if os.path.islink(path) or not os.path.isfile(path):
        return Reading()
    described = _read(path)
    found = []
    for folder in class_folder.folders:
        if folder.name not in described:
            continue
        submitted = described[folder.name]
        for person in submitted.people or [{"name": folder.name}]:
            id = person.get("sid") or person.get("email", "")
            found.append(
                HandIn(
                    student=person.get("name") or id or folder.name,
                    id=id,
                    email=person.get("email", ""),
                    attempt=(submitted.created_at, submitted.number),
                    at=moment(submitted.created_at),
                    folder=folder,
                )
            )
    return Reading(hand_ins=found)


def _read(path: Path) -> dict[str, _Submitted]:
    """The few fields that matter of the file, which is YAML as Ruby writes it.

    What people choose in it, such as names over several lines and what code printed, is indented
    further than the fields that are read.
    """
    found: dict[str, _Submitted] = {}
    current: _Submitted | None = None
    field, items = "", 0
    # Not by splitlines(), for which a name may hold ends of lines that YAML does not know.
    lines = path.read_text("utf-8", "replace").split("\n")
    for at, line in enumerate(lines):
        if match := _SUBMISSION.fullmatch(line):
            current = found[match[1]] = _Submitted(number=int(match[2]))
            field = ""
        elif line and not line.startswith((" ", "-")):
            current = None
        elif current is None or (match := _FIELD.fullmatch(line)) is None:
            continue
        elif len(match[1]) == 2 and not match[2]:
            field, items = match[3], 0
            if field == "created_at":
                current.created_at = _scalar(match[4] or "", _further(lines, at, 2))
        elif field == "submitters":
            indent = len(match[1] + (match[2] or ""))
            items = items or indent
            if indent != items:
                continue
            if match[2]:
                current.people.append({})
            if current.people:
                value = _scalar(match[4] or "", _further(lines, at, indent))
                current.people[-1][match[3]] = value
    return found


def _further(lines: list[str], at: int, indent: int) -> Iterator[str]:
    """The lines after line ``at`` that belong to it: they are indented further."""
    after = lines[at + 1 : at + 1 + _MOST_LINES]
    return itertools.takewhile(lambda line: not line[: indent + 1].strip(), after)


def _scalar(text: str, further: Iterator[str]) -> str:
    """A value, whose quotation may go on in ``further`` lines."""
    text = text.strip()
    if not text.startswith(("'", '"')):
        return "" if text in ("null", "~") else text
    while not _QUOTED.fullmatch(text):
        line = next(further, None)
        if line is None:
            return text[1:]
        text = f"{text} {line.strip()}"
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return _joined(_ESCAPE.sub(_unescaped, text[1:-1]))


def _unescaped(match: re.Match[str]) -> str:
    """What an escape of YAML stands for; one that stands for nothing is left as it is written."""
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _ESCAPES.get(match[4], match[0])
    number = int(digits, 16)
    return chr(number) if number <= sys.maxunicode else match[0]


def _joined(text: str) -> str:
    """``text`` with pairs of surrogates as the characters that they stand for."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
