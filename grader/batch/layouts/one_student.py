"""A single student's folder: files or folders called as the assignments are."""

from __future__ import annotations

import os

from grader.batch.layouts.flat import original
from grader.batch.place import HandIn, Place

TITLE = "one student's folder"
ORDER = 75


def find(place: Place) -> list[HandIn]:
    """The folder itself."""
    stems = {path.stem for path in place.files}
    # Were one of them enough, a class with a file of that name among others would become one.
    by_file = bool(stems) and all(original(stem, stems)[0] in place.ids for stem in stems)
    by_folder = (place.path / "assignments").is_dir() or any(
        os.path.isfile(place.path / id / f"{id}.py") for id in place.ids
    )
    if not by_file and not by_folder:
        return []
    return [HandIn(student=place.path.name, folder=place.path)]
