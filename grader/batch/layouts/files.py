"""Files side by side: ``ann.py``, ``attention_bob.py``, ``cem (1).zip``."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from grader.batch.class_folder import ClassFolder, HandIn, Reading

TITLE = "files, one for each student"
ORDER = 80

_NUMBERED = re.compile(r"(.+?)(?:[ _]?\((\d{1,9})\)|-(?:Copy)?(\d{1,9}))", re.DOTALL)


def find(class_folder: ClassFolder) -> Reading:
    """One for each file."""
    return of_files(class_folder)


def of_files(class_folder: ClassFolder, others: Collection[str] = ()) -> Reading:
    """One for each file; ``others`` are students who have something else there.

    ``bob (9).py`` is a copy that somebody's system made of a ``bob.py``, and nothing says whose
    that was: where another is bob's it is left out. Of several copies the last is taken.
    """
    plain: dict[Path, HandIn] = {}
    copies: dict[Path, HandIn] = {}
    for path in class_folder.files:
        one = of_file(path, class_folder.ids)
        (copies if one.attempt > (0,) else plain)[path] = one
    taken, left = dict(plain), []
    for path, copy in sorted(copies.items(), key=lambda item: item[1].attempt, reverse=True):
        if copy.student in others or any(_same(copy, one) for one in taken.values()):
            left.append(path.name)
        else:
            taken[path] = copy
    hand_ins = [taken[path] for path in class_folder.files if path in taken]
    return Reading(
        # Should "scale_bob.py" be for the same assignment as "bob.py", this is surely bob's.
        hand_ins=sorted(hand_ins, key=lambda one: one.assignment != ""),
        signs=frozenset(class_folder.files),
        left_out=sorted(left),
    )


def of_file(path: Path, ids: tuple[str, ...]) -> HandIn:
    """What a file called after its student is."""
    stem, copy = original(path.stem)
    # "group-1" and "group-2" are names.
    if stem.lower() not in ids and not path.stem.endswith(")"):
        stem, copy = path.stem, 0
    student, assignment = _parts(stem, ids)
    return HandIn(
        student=student,
        assignment=assignment,
        is_named_freely=bool(assignment),
        attempt=(copy,),
        files={path.name: path},
    )


def original(stem: str) -> tuple[str, int]:
    """One student's file's name without a copy's or a platform's number, and that number."""
    match = _NUMBERED.fullmatch(stem)
    return (match[1], int(match[2] or match[3])) if match else (stem, 0)


def _same(one: HandIn, other: HandIn) -> bool:
    """Whether both may be one student's answer to one assignment."""
    names = {one.assignment, other.assignment}
    return one.student == other.student and (len(names) == 1 or "" in names)


def _parts(stem: str, ids: tuple[str, ...]) -> tuple[str, str]:
    """Student and assignment, where the name says both."""
    for id in sorted(ids, key=len, reverse=True):
        for separator in "_- .":
            if stem.startswith(id + separator):
                return stem[len(id) + 1 :], id
            if stem.endswith(separator + id):
                return stem[: -len(id) - 1], id
    return stem, ""
