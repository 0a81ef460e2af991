"""Canvas's "download submissions": ``lastfirst_LATE_12345_67890_name-1.py``."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

import msgspec

from grader.batch.class_folder import ClassFolder, HandIn, Reading, code_or_all

TITLE = "a Canvas download (lastfirst_12345_67890_name.py)"
ORDER = 30

# A name holds no number between underscores, so the first ones are Canvas's own.
_NAMED = re.compile(
    r"(?P<student>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?:question_(?P<question>\d+)_)?"
    r"(?P<file>\d+)_(?P<name>.+)",
    re.DOTALL,
)
_ANONYMOUS = re.compile(
    r"(?P<student>anon_(?P<user>[A-Za-z0-9]+))_(?P<late>LATE_)?"
    r"(?:question_(?P<question>\d+)_)?(?P<file>\d+)_(?P<name>.+)",
    re.DOTALL,
)
_AGAIN = re.compile(r"(.+)-(\d{1,9})", re.DOTALL)


class _File(msgspec.Struct):
    path: Path
    name: str
    question: str
    """Of a quiz, whose files are handed in one by one."""
    attempt: int
    number: int


def find(class_folder: ClassFolder) -> Reading:
    """The newest of each student's files; a resubmission's have ``-1``, ``-2`` to their names."""
    files: dict[tuple[str, str], list[_File]] = defaultdict(list)
    late = set()
    for path in (*class_folder.files, *class_folder.others):
        match = _ANONYMOUS.fullmatch(path.name) or _NAMED.fullmatch(path.name)
        if match is None:
            continue
        who = (match["student"], match["user"])
        if match["late"]:
            late.add(who)
        given = PurePosixPath(match["name"])
        again = _AGAIN.fullmatch(given.stem)
        name, attempt = (again[1] + given.suffix, int(again[2])) if again else (given.name, 0)
        files[who].append(_File(path, name, match["question"] or "", attempt, int(match["file"])))
    hand_ins = [
        _newest(student, user, found, (student, user) in late)
        for (student, user), found in files.items()
    ]
    signs = {file.path for found in files.values() for file in found}
    return Reading(hand_ins=hand_ins, signs=frozenset(signs.intersection(class_folder.files)))


def _newest(student: str, user: str, files: list[_File], late: bool) -> HandIn:
    taken: dict[tuple[str, str], _File] = {}
    older = []
    for file in sorted(files, key=lambda file: (file.attempt, file.number)):
        if before := taken.get((file.question, file.name)):
            older.append(before.path.name)
        taken[file.question, file.name] = file
    notes = ["Canvas marks it as late."] if late else []
    if older:
        chosen = ", ".join(file.path.name for file in taken.values())
        notes.append(f"The last attempt counts: took {chosen}, not {', '.join(older)}.")
    names = [file.name for file in taken.values()]
    return HandIn(
        student=student,
        id=user,
        files=code_or_all(
            {
                file.name
                if names.count(file.name) == 1
                else f"question_{file.question}/{file.name}": file.path
                for file in taken.values()
            }
        ),
        notes=notes,
    )
