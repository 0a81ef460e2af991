"""Gradescope's export: ``submission_N/`` folders and ``submission_metadata.yml``."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from grader.batch.dates import moment
from grader.batch.place import HandIn, Place

TITLE = "a Gradescope export (submission_metadata.yml)"
ORDER = 10
METADATA = "submission_metadata.yml"

_SUBMISSION = re.compile(r"""['"]?:?(submission_(\d+))['"]?:\s*""")
_FIELD = re.compile(r"  (?!\s):?([a-z_]+):\s*(.*)")
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
                    email=person.get("email", ""),
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
    for line in path.read_text("utf-8", "replace").splitlines():
        if match := _SUBMISSION.fullmatch(line):
            current = found[match[1]] = _Submitted(number=int(match[2]))
            field = ""
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
        try:
            return msgspec.json.decode(_as_json(text), type=str)
        except msgspec.DecodeError:
            return text[1:-1]
    return "" if text in ("null", "~") else text


def _as_json(text: str) -> str:
    """A double-quoted scalar, whose escapes are JSON's and ``\\xNN`` and ``\\UNNNNNNNN``."""
    text = re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", text)
    return re.sub(r"\\U([0-9a-fA-F]{8})", lambda match: chr(int(match[1], 16)), text)
