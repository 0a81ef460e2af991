"""Files and folders side by side, each called after its student."""

from __future__ import annotations

from grader.batch.layouts import files, folders
from grader.batch.place import Place, Reading

TITLE = "a file or a folder for each student"
ORDER = 90


def find(place: Place) -> Reading:
    """One for each of them."""
    of_folders = folders.find(place).hand_ins
    of_files = files.of_files(place, {one.student for one in of_folders})
    return Reading(
        hand_ins=[*of_files.hand_ins, *of_folders],
        signs=frozenset([*place.files, *(place.folders if of_folders else ())]),
        left_out=of_files.left_out,
    )
