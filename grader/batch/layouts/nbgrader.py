"""nbgrader's tree: ``submitted/STUDENT/ASSIGNMENT/``."""

from __future__ import annotations

from grader.batch.place import HandIn, Place

TITLE = "nbgrader's submitted/STUDENT/ASSIGNMENT/"
ORDER = 50


def find(place: Place) -> list[HandIn]:
    """From the course's folder or from ``submitted/``, which its ``timestamp.txt`` give away."""
    submitted = place.path / "submitted"
    sure = place.path.name == "submitted"
    if submitted.is_dir() and not submitted.is_symlink():
        place, sure = place.below(submitted), True
    found = [
        HandIn(student=student.name, assignment=folder.name, folder=folder)
        for student in place.folders
        for folder in place.below(student).folders
    ]
    sure = sure or any((one.folder / "timestamp.txt").is_file() for one in found if one.folder)
    return found if sure else []
