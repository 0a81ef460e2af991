"""One folder for each student."""

from __future__ import annotations

from grader.batch.class_folder import ClassFolder, HandIn, Reading, holds_code

TITLE = "a folder for each student"
ORDER = 85


def find(class_folder: ClassFolder) -> Reading:
    """Every folder, where most hold something that may be code."""
    full = [folder for folder in class_folder.folders if holds_code(folder)]
    if len(full) * 2 < len(class_folder.folders):
        return Reading()
    return Reading(
        hand_ins=[HandIn(student=folder.name, folder=folder) for folder in class_folder.folders]
    )
