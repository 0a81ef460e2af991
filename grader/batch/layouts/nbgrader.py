"""nbgrader's tree: ``submitted/STUDENT/ASSIGNMENT/``."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from grader.batch.dates import moment
from grader.batch.place import HandIn, Place
from grader.course.model import NotGradable
from grader.course.tree import read_regular

TITLE = "nbgrader's submitted/STUDENT/ASSIGNMENT/"
ORDER = 50


def find(place: Place) -> list[HandIn]:
    """From the course's folder or from ``submitted/``, which its ``timestamp.txt`` give away."""
    submitted = place.path / "submitted"
    sure = place.path.name == "submitted"
    if submitted.is_dir() and not submitted.is_symlink():
        place, sure = place.below(submitted), True
    found = [
        HandIn(
            student=student.name,
            assignment=folder.name,
            folder=folder,
            at=_moment(folder / "timestamp.txt"),
        )
        for student in place.folders
        for folder in place.below(student).folders
    ]
    sure = sure or any(os.path.isfile(one.folder / "timestamp.txt") for one in found if one.folder)
    return found if sure else []


def _moment(path: Path) -> datetime | None:
    """What nbgrader wrote when it took the submission in."""
    try:
        return moment(read_regular(path, limit=200).decode("utf-8", "replace"))
    except NotGradable:
        return None
