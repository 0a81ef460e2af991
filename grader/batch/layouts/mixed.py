"""Files and folders side by side, each called after its student."""

from __future__ import annotations

from grader.batch.class_folder import ClassFolder, Reading
from grader.batch.layouts import files, folders

TITLE = "a file or a folder for each student"
ORDER = 90


def find(class_folder: ClassFolder) -> Reading:
    """One for each of them."""
    of_folders = folders.find(class_folder).hand_ins
    of_files = files.of_files(class_folder, {one.student for one in of_folders})
    return Reading(
        hand_ins=[*of_files.hand_ins, *of_folders],
        signs=frozenset([*class_folder.files, *(class_folder.folders if of_folders else ())]),
        left_out=of_files.left_out,
    )
