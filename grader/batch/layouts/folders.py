"""One folder for each student."""

from __future__ import annotations

from grader.batch.place import HandIn, Place, Reading, holds_code

TITLE = "a folder for each student"
ORDER = 85


def find(place: Place) -> Reading:
    """Every folder, where most hold something that may be code."""
    full = [folder for folder in place.folders if holds_code(folder)]
    if len(full) * 2 < len(place.folders):
        return Reading()
    return Reading(
        hand_ins=[HandIn(student=folder.name, folder=folder) for folder in place.folders]
    )
