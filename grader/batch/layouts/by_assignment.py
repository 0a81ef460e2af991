"""A folder for each assignment, each with a class in it."""

from __future__ import annotations

import os

import msgspec

from grader.batch.place import HandIn, Place
from grader.batch.recognise import read_place

TITLE = "a folder for each assignment"
ORDER = 70


def find(place: Place) -> list[HandIn]:
    """What is found in each of them."""
    folders = [folder for folder in place.folders if folder.name in place.ids]
    if not folders or place.files or len(folders) < len(place.folders):
        return []
    if any(os.path.exists(folder / f"{folder.name}.py") for folder in folders):
        return []  # one student's
    return [
        msgspec.structs.replace(one, assignment=folder.name)
        for folder in folders
        for one in read_place(place.below(folder)).hand_ins
    ]
