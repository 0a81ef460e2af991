"""Files and folders side by side, each called after its student."""

from __future__ import annotations

from grader.batch.layouts import flat, folders
from grader.batch.place import HandIn, Place

TITLE = "a file or a folder for each student"
ORDER = 95


def find(place: Place) -> list[HandIn]:
    """One for each of them, where most of the folders hold something that may be code."""
    if not place.files:
        return []
    of_folders = folders.each(place)
    stems = {path.stem for path in place.files}
    of_files = [flat.of_file(path, place.ids, stems) for path in place.files]
    return [*of_files, *of_folders] if of_folders else []
