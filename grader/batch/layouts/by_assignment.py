"""A folder for each assignment, each with a class in it."""

from __future__ import annotations

import msgspec

from grader.batch.class_folder import ClassFolder, HandIn, Reading
from grader.batch.errors import BatchError
from grader.batch.layouts.files import original
from grader.batch.recognise import read_folder

TITLE = "a folder for each assignment"
ORDER = 70


def find(class_folder: ClassFolder) -> Reading:
    """What is found in each of them."""
    hand_ins: list[HandIn] = []
    left_out: list[str] = []
    signs = set()
    for folder in class_folder.folders:
        inside = class_folder.below(folder)
        if folder.name not in class_folder.ids or not _may_be_a_class(inside):
            continue
        try:
            found = read_folder(inside)
        except BatchError:
            continue
        signs.add(folder)
        left_out += [f"{folder.name}/{name}" for name in found.left_out]
        hand_ins += [
            msgspec.structs.replace(one, assignment=folder.name, is_named_freely=False)
            for one in found.hand_ins
        ]
    return Reading(hand_ins=hand_ins, signs=frozenset(signs), left_out=left_out)


def _may_be_a_class(folder: ClassFolder) -> bool:
    """Whether there is more in it than one answer to the assignment that it is called after."""
    answers = [file for file in folder.files if original(file.stem)[0].lower() == folder.path.name]
    return len(folder.entries) > len(answers)
