"""A single student's folder: files or folders called as the assignments are."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from grader.batch.layouts.exports import is_export
from grader.batch.layouts.files import original
from grader.batch.place import HandIn, Place, Reading

TITLE = "one student's folder"
ORDER = 75


def find(place: Place) -> Reading:
    """The folder itself."""
    signs = {path for path in place.files if _is_named_for_one(path, place)}
    signs |= {folder for folder in place.folders if _is_of_one_student(place.below(folder))}
    if not signs:
        return Reading()
    return Reading(
        hand_ins=[HandIn(student=place.path.name, folder=place.path)],
        signs=frozenset(signs),
        left_out=_copies(place),
    )


def _copies(place: Place) -> list[str]:
    """Files that are not taken beside those of the same name; they may be somebody else's."""
    by_stem: dict[str, list[Path]] = defaultdict(list)
    for path in place.files:
        if _is_named_for_one(path, place):
            by_stem[original(path.stem)[0]].append(path)
    numbers = {path: original(path.stem)[1] for paths in by_stem.values() for path in paths}
    taken = {
        max(paths, key=lambda path: (not numbers[path], numbers[path]))
        for paths in by_stem.values()
    }
    return [path.name for path in numbers if numbers[path] and path not in taken]


def _is_named_for_one(file: Path, place: Place) -> bool:
    named = original(file.stem)[0].lower() in place.ids
    return named and not (file.suffix.lower() == ".zip" and is_export(place, file))


def _is_of_one_student(folder: Place) -> bool:
    """Whether a folder for an assignment holds one answer, and at most one other thing.

    With more in it, it may hold a class, of which one has called a file after the assignment.
    """
    name = folder.path.name
    if name == "assignments":
        return any(inner.name in folder.ids for inner in folder.folders)
    answers = [file for file in folder.files if original(file.stem)[0].lower() == name]
    return name in folder.ids and bool(answers) and len(folder.entries) <= len(answers) + 1
