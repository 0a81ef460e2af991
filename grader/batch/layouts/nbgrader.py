"""nbgrader's tree: ``submitted/STUDENT/ASSIGNMENT/``."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from grader.batch.class_folder import ClassFolder, HandIn, Reading
from grader.batch.dates import moment
from grader.course.model import NotGradable
from grader.course.tree import read_regular

TITLE = "nbgrader's submitted/STUDENT/ASSIGNMENT/"
ORDER = 50

_SUBMITTED = "submitted"
_OF_THE_COURSE = ("source", "release", "autograded", "feedback", "nbgrader_config.py")
"""What lies beside ``submitted/``."""


def find(class_folder: ClassFolder) -> Reading:
    """From the course's folder or from ``submitted/``.

    A student's folder is one of nbgrader's if it holds nothing but folders of assignments, which is
    sure in ``submitted/``, and elsewhere if each has the ``timestamp.txt`` of being collected.
    """
    inner = next((folder for folder in class_folder.folders if folder.name == _SUBMITTED), None)
    if inner is not None:
        of_course = {path for path in class_folder.entries if path.name in _OF_THE_COURSE}
        found = _students(class_folder.below(inner), sure=True)
        signs = frozenset({inner, *of_course}) if found.signs else frozenset[Path]()
        return Reading(hand_ins=found.hand_ins, signs=signs)
    return _students(class_folder, sure=class_folder.path.name == _SUBMITTED)


def _students(class_folder: ClassFolder, *, sure: bool) -> Reading:
    found, signs = [], set()
    for student in class_folder.folders:
        inside = class_folder.below(student)
        folders = inside.folders
        collected = all(os.path.isfile(folder / "timestamp.txt") for folder in folders)
        if folders and not inside.files and (sure or collected):
            signs.add(student)
        found += [
            HandIn(
                student=student.name,
                id=student.name,
                assignment=folder.name,
                folder=folder,
                at=_moment(folder / "timestamp.txt"),
            )
            for folder in folders
        ]
    return Reading(hand_ins=found, signs=frozenset(signs))


def _moment(path: Path) -> datetime | None:
    """What nbgrader wrote when it took the submission in."""
    try:
        return moment(read_regular(path, limit=200).decode("utf-8", "replace"))
    except NotGradable:
        return None
