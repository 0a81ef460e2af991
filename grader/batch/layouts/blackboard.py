"""Blackboard's assignment download: ``Assignment_student_attempt_DATE_file.py``."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from grader.batch.place import HandIn, Place
from grader.course.model import NotGradable
from grader.course.tree import read_regular

TITLE = "a Blackboard download (Assignment_student_attempt_date_file)"
ORDER = 40

_DATE = r"\d{4}(?:-\d{1,2}){5}"
_FILE = re.compile(rf"(.+)_([^_]+)_attempt_({_DATE})_(.+)")
_FROM_WHOM = re.compile(r"^Name:[ \t]*(.*?)[ \t]*\(([^()\n]+)\)[ \t]*$", re.M)


def find(place: Place) -> list[HandIn]:
    """One for each attempt; the text file beside it says whose it is."""
    attempts: dict[tuple[str, str, str], dict[str, Path]] = defaultdict(dict)
    for path in place.files:
        if match := _FILE.fullmatch(path.name):
            attempts[match[1], match[2], match[3]][match[4]] = path
    found = []
    for (assignment, student, date), files in attempts.items():
        name, user = _written_in(place.path / f"{assignment}_{student}_attempt_{date}.txt")
        # A user's name may hold the character that parts the fields.
        whole = f"{assignment}_{student}"
        title = (
            whole.removesuffix(f"_{user}") if user and whole.endswith(f"_{user}") else assignment
        )
        found.append(
            HandIn(
                student=name or student,
                id=user or student,
                login=user or student,
                assignment=title,
                attempt=tuple(map(int, date.split("-"))),
                at=_moment(date),
                files=files,
            )
        )
    return found


def _moment(date: str) -> datetime | None:
    """The server's own time, whose zone Blackboard does not say."""
    try:
        return datetime(*map(int, date.split("-")))  # type: ignore[arg-type]
    except ValueError:
        return None


def _written_in(path: Path) -> tuple[str, str]:
    """The student's name and the user's, as Blackboard's own text file has them; or neither."""
    try:
        text = read_regular(path, limit=1 << 20).decode("utf-8", "replace")
    except NotGradable:
        return "", ""
    match = _FROM_WHOM.search(text[:2000])
    return (match[1], match[2]) if match else ("", "")
