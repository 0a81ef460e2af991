"""One folder for each student."""

from __future__ import annotations

from grader.batch.place import HandIn, Place
from grader.course.model import NotGradable
from grader.course.tree import Folder

TITLE = "a folder for each student"
ORDER = 90


def find(place: Place) -> list[HandIn]:
    """Every folder, where there is nothing else."""
    return [] if place.files else each(place)


def each(place: Place) -> list[HandIn]:
    """Every folder, where most hold something that may be code."""
    full = [folder for folder in place.folders if _holds_code(folder)]
    if len(full) * 2 < len(place.folders):
        return []
    return [HandIn(student=folder.name, folder=folder) for folder in place.folders]


def _holds_code(folder: object) -> bool:
    try:
        return bool(Folder(folder).files)  # type: ignore[arg-type]
    except NotGradable:
        return False
