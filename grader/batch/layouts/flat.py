"""Files side by side: ``ann.py``, ``attention_bob.py``, ``cem (1).zip``."""

from __future__ import annotations

import re
from pathlib import Path

from grader.batch.place import HandIn, Place

TITLE = "files, one for each student"
ORDER = 80

_COPY = re.compile(r"(.+?)[ _]?\((\d{1,9})\)")
_NUMBERED = re.compile(r"(.+)-(\d{1,9})")


def find(place: Place) -> list[HandIn]:
    """One for each file."""
    if not place.files or place.folders:
        return []
    stems = {path.stem for path in place.files}
    return [of_file(path, place.ids, stems) for path in place.files]


def of_file(path: Path, ids: tuple[str, ...], stems: set[str]) -> HandIn:
    """What a file called after its student is; ``stems`` are the names of all of them."""
    stem, attempt = original(path.stem, stems)
    student, assignment = _parts(stem, ids)
    return HandIn(
        student=student,
        assignment=assignment,
        attempt=(attempt,),
        files={path.name: path},
    )


def original(stem: str, stems: set[str]) -> tuple[str, int]:
    """The name without a copy's number, and that number."""
    if match := _COPY.fullmatch(stem):
        return match[1], int(match[2])
    # "group-1" and "group-2" are names, unless there is a "group".
    if (match := _NUMBERED.fullmatch(stem)) and match[1] in stems:
        return match[1], int(match[2])
    return stem, 0


def _parts(stem: str, ids: tuple[str, ...]) -> tuple[str, str]:
    """Student and assignment, where the name says both."""
    for id in sorted(ids, key=len, reverse=True):
        for separator in "_- .":
            if stem.startswith(id + separator):
                return stem[len(id) + 1 :], id
            if stem.endswith(separator + id):
                return stem[: -len(id) - 1], id
    return stem, ""
