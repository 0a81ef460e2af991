"""Gradescope's export: ``submission_N/`` folders and ``submission_metadata.yml``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

from grader.batch.dates import moment
from grader.batch.place import HandIn, Place

TITLE = "a Gradescope export (submission_metadata.yml)"
ORDER = 10
METADATA = "submission_metadata.yml"

_SUBMISSION = re.compile(r"""['"]?:?(submission_(\d{1,18}))['"]?:\s*""")
_FIELD = re.compile(r"  (?!\s):?([a-z_]+):\s*(.*)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0"},
    **{"L": "\u2028", "P": "\u2029"},
}
_OF_SUBMITTER = re.compile(r"  {1,4}(- | {2}):?(name|sid|email):\s*(.*)")


class _Submitted(msgspec.Struct):
    number: int
    created_at: str = ""
    people: list[dict[str, str]] = []


def find(place: Place) -> list[HandIn]:
    """One for each submitter, so that a group's members each have their own."""
    path = place.path / METADATA
    if path.is_symlink() or not path.is_file():
        return []
    described = _read(path)
    found = []
    for folder in place.folders:
        if folder.name not in described:
            continue
        submitted = described[folder.name]
        for person in submitted.people or [{"name": folder.name}]:
            id = person.get("sid") or person.get("email", "")
            found.append(
                HandIn(
                    student=person.get("name") or id or folder.name,
                    id=id,
                    attempt=(submitted.created_at, submitted.number),
                    at=moment(submitted.created_at),
                    folder=folder,
                )
            )
    return found


def _read(path: Path) -> dict[str, _Submitted]:
    """The few fields that matter of the file, which is YAML as Ruby writes it.

    All else in it, such as what a student's code printed, is indented further than what is read.
    """
    found: dict[str, _Submitted] = {}
    current: _Submitted | None = None
    field = ""
    for line in path.read_text("utf-8", "replace").split("\n"):
        if match := _SUBMISSION.fullmatch(line):
            current = found[match[1]] = _Submitted(number=int(match[2]))
            field = ""
        elif line and not line.startswith((" ", "-")):
            current = None
        elif current is None:
            continue
        elif field == "submitters" and (match := _OF_SUBMITTER.fullmatch(line)):
            if match[1] == "- ":
                current.people.append({})
            if current.people:
                current.people[-1][match[2]] = _scalar(match[3])
        elif match := _FIELD.fullmatch(line):
            field = match[1]
            if field == "created_at":
                current.created_at = _scalar(match[2])
    return found


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _joined(_ESCAPE.sub(_unescaped, text[1:-1]))
    return "" if text in ("null", "~") else text


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
