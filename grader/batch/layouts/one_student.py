"""A single student's folder: files or folders called as the assignments are."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from grader.batch.class_folder import ClassFolder, HandIn, Reading
from grader.batch.layouts.exports import is_export
from grader.batch.layouts.files import original

TITLE = "one student's folder"
ORDER = 75


def find(class_folder: ClassFolder) -> Reading:
    """The folder itself."""
    signs = {path for path in class_folder.files if _is_named_for_one(path, class_folder)}
    signs |= {
        folder for folder in class_folder.folders if _is_of_one_student(class_folder.below(folder))
    }
    if not signs:
        return Reading()
    return Reading(
        hand_ins=[HandIn(student=class_folder.path.name, folder=class_folder.path)],
        signs=frozenset(signs),
        left_out=_copies(class_folder),
    )


def _copies(class_folder: ClassFolder) -> list[str]:
    """Files that are not taken beside those of the same name; they may be somebody else's."""
    by_stem: dict[str, list[Path]] = defaultdict(list)
    for path in class_folder.files:
        if _is_named_for_one(path, class_folder):
            by_stem[original(path.stem)[0]].append(path)
    numbers = {path: original(path.stem)[1] for paths in by_stem.values() for path in paths}
    taken = {
        max(paths, key=lambda path: (not numbers[path], numbers[path]))
        for paths in by_stem.values()
    }
    return [path.name for path in numbers if numbers[path] and path not in taken]


def _is_named_for_one(file: Path, class_folder: ClassFolder) -> bool:
    named = original(file.stem)[0].lower() in class_folder.ids
    return named and not (file.suffix.lower() == ".zip" and is_export(class_folder, file))


def _is_of_one_student(folder: ClassFolder) -> bool:
    """Whether a folder for an assignment holds one answer, and at most one other thing.

    With more in it, it may hold a class, of which one has called a file after the assignment.
    """
    name = folder.path.name
    if name == "assignments":
        return any(inner.name in folder.ids for inner in folder.folders)
    answers = [file for file in folder.files if original(file.stem)[0].lower() == name]
    return name in folder.ids and bool(answers) and len(folder.entries) <= len(answers) + 1
