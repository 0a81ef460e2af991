"""Blackboard's assignment download: ``Assignment_login_attempt_DATE_file.py``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from grader.batch.class_folder import ClassFolder, HandIn, Reading, code_or_all
from grader.course.model import NotGradable
from grader.course.tree import read_regular

TITLE = "a Blackboard download (Assignment_student_attempt_date_file)"
ORDER = 40

_DATE = r"\d{4}(?:-\d{1,2}){5}"
# The file's own name, which comes last, may look like any of this: the first date is Blackboard's.
_FILE = re.compile(rf"(.+?)_attempt_({_DATE})_(.+)", re.DOTALL)
_FROM_WHOM = re.compile(r"\ufeff?\s*Name:[ \t]*(.*?)[ \t]*\(([^()\n]+)\)[ \t]*(?:\n|\Z)")


def find(class_folder: ClassFolder) -> Reading:
    """One for each attempt; the text file beside it says whose it is."""
    attempts: dict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for path in (*class_folder.files, *class_folder.others):
        if match := _FILE.fullmatch(path.name):
            attempts[match[1], match[2]][match[3]] = path
    names = {
        (whole, date): _written_in(class_folder.path / f"{whole}_attempt_{date}.txt", whole)
        for whole, date in attempts
    }
    titles = {whole.removesuffix(f"_{login}") for (whole, _), (_, login) in names.items() if login}
    wholes = {whole for whole, _ in attempts}
    found = []
    for (whole, date), files in attempts.items():
        name, login = names[whole, date]
        title = whole.removesuffix(f"_{login}") if login else _title(whole, wholes, titles)
        login = login or whole.removeprefix(f"{title}_")
        found.append(
            HandIn(
                student=name or login,
                id=login,
                login=login,
                assignment=title,
                attempt=tuple(map(int, date.split("-"))),
                at=_moment(date),
                files=code_or_all(files),
            )
        )
    return Reading(hand_ins=found)


def _title(whole: str, wholes: Collection[str], known: Collection[str]) -> str:
    """The assignment's title, where no text file says which part of the name is the login.

    A login may hold the character that parts the fields. A title is one that text files have given,
    or else what most names begin with.
    """
    fitting = [title for title in known if whole.startswith(f"{title}_")]
    if fitting:
        return max(fitting, key=len)
    cuts = [whole[:at] for at, letter in enumerate(whole) if letter == "_"]
    return max(
        cuts,
        key=lambda cut: (sum(one.startswith(f"{cut}_") for one in wholes), len(cut)),
        default="",
    )


def _moment(date: str) -> datetime | None:
    """The server's own time, whose zone Blackboard does not say."""
    try:
        return datetime(*map(int, date.split("-")))  # type: ignore[arg-type]
    except ValueError:
        return None


def _written_in(path: Path, whole: str) -> tuple[str, str]:
    """The student's name and login, as the first line of Blackboard's own text file has them.

    Neither, if the login is not that of the file's name. Further down are the student's words.
    """
    try:
        text = read_regular(path, limit=1 << 20).decode("utf-8", "replace")
    except NotGradable:
        return "", ""
    match = _FROM_WHOM.match(text.replace("\r\n", "\n"))
    return (match[1], match[2]) if match and whole.endswith(f"_{match[2]}") else ("", "")
