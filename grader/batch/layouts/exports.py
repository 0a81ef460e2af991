"""Zips as a platform makes them, one for each assignment."""

from __future__ import annotations

from grader.batch.errors import BatchError
from grader.batch.place import HandIn, Place
from grader.batch.recognise import is_of_platform, read_place, with_hint

TITLE = "a platform's zip for each assignment"
ORDER = 65


def find(place: Place) -> list[HandIn]:
    """What is found in each zip, where the first of them is one of a platform's."""
    if place.folders or not place.files:
        return []
    if any(path.suffix.lower() != ".zip" for path in place.files):
        return []
    found: list[HandIn] = []
    for path in place.files:
        try:
            inside = place.unpacked(path)
        except BatchError:
            if found:
                raise
            return []
        if not found and not _is_export(inside):
            return []
        found += with_hint(read_place(inside), place.assignment_in(path.stem)).hand_ins
    return found


def _is_export(place: Place) -> bool:
    while len(place.folders) == 1 and not place.files and not is_of_platform(place):
        place = place.below(place.folders[0])
    return is_of_platform(place)
