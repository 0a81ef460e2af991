"""Canvas's "download submissions": ``lastfirst_LATE_12345_67890_name-1.py``."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

import msgspec

from grader.batch.place import HandIn, Place

TITLE = "a Canvas download (lastfirst_12345_67890_name.py)"
ORDER = 30

_NAMED = re.compile(r"(?P<student>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<name>.+)")
_ANONYMOUS = re.compile(
    r"(?P<student>anon_(?P<user>[A-Za-z0-9]+))_(?P<late>LATE_)?(?P<file>\d+)_(?P<name>.+)"
)
_AGAIN = re.compile(r"(.+)-(\d{1,9})")


class _File(msgspec.Struct):
    path: Path
    name: str
    attempt: int
    number: int


def find(place: Place) -> list[HandIn]:
    """The newest of each student's files; a resubmission's have ``-1``, ``-2`` to their names."""
    files: dict[tuple[str, str], list[_File]] = defaultdict(list)
    late = set()
    for path in place.files:
        match = _ANONYMOUS.fullmatch(path.name) or _NAMED.fullmatch(path.name)
        if match is None:
            continue
        who = (match["student"], match["user"])
        if match["late"]:
            late.add(who)
        given = PurePosixPath(match["name"])
        again = _AGAIN.fullmatch(given.stem)
        name, attempt = (again[1] + given.suffix, int(again[2])) if again else (given.name, 0)
        files[who].append(_File(path, name, attempt, int(match["file"])))
    return [
        _newest(student, user, found, (student, user) in late)
        for (student, user), found in files.items()
    ]


def _newest(student: str, user: str, files: list[_File], late: bool) -> HandIn:
    taken: dict[str, _File] = {}
    older = []
    for file in sorted(files, key=lambda file: (file.attempt, file.number)):
        if file.name in taken:
            older.append(taken[file.name].path.name)
        taken[file.name] = file
    notes = ["Canvas marks it as late."] if late else []
    if older:
        chosen = ", ".join(file.path.name for file in taken.values())
        notes.append(f"The last attempt counts: took {chosen}, not {', '.join(older)}.")
    return HandIn(
        student=student,
        id=user,
        files={name: file.path for name, file in taken.items()},
        notes=notes,
    )
