"""Zips as a platform makes them, one for each assignment."""

from __future__ import annotations

import contextlib
import itertools
import zipfile
from pathlib import Path, PurePosixPath

from grader.batch.class_folder import ClassFolder, HandIn, Reading
from grader.batch.errors import BatchError
from grader.batch.recognise import is_of_platform, read_folder, with_hint

TITLE = "a platform's zip for each assignment"
ORDER = 65

_ENOUGH = 300
"""So many names of a zip tell whether it is an export."""
_MOST_TEXT = 1 << 20


def find(class_folder: ClassFolder) -> Reading:
    """What is found in each zip that is one of a platform's."""
    hand_ins: list[HandIn] = []
    left_out: list[str] = []
    signs = set()
    zips = [path for path in class_folder.files if path.suffix.lower() == ".zip"]
    exports = [path for path in zips if is_export(class_folder, path)]
    # Where most are not, these may be students', whose zips are not to be unpacked.
    for path in exports if len(exports) * 2 >= len(class_folder.entries) else ():
        try:
            found = with_hint(
                read_folder(class_folder.unpacked(path)), class_folder.assignment_in(path.stem)
            )
        except BatchError:
            continue
        signs.add(path)
        hand_ins += found.hand_ins
        left_out += [f"{path.name}/{name}" for name in found.left_out]
    return Reading(hand_ins=hand_ins, signs=frozenset(signs), left_out=left_out)


def is_export(class_folder: ClassFolder, archive: Path) -> bool:
    """Whether a zip has a platform's names; it may as well be a student's, and is not unpacked."""
    outline = class_folder.empty()
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in itertools.islice(opened.infolist(), _ENOUGH):
                with contextlib.suppress(Exception):  # as below; or no disk takes the name
                    _sketch(opened, member, outline.path)
    except Exception:  # on broken files zipfile raises errors of many kinds
        return False
    while len(outline.folders) == 1 and not outline.files and not is_of_platform(outline):
        outline = outline.below(outline.folders[0])
    return is_of_platform(outline)


def _sketch(opened: zipfile.ZipFile, member: zipfile.ZipInfo, root: Path) -> None:
    """An empty file for a member, or one with its text if it may say how the others are called."""
    name = PurePosixPath(member.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts:
        return
    path = root / name
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    is_text = path.suffix.lower() in (".yml", ".txt") and member.file_size <= _MOST_TEXT
    path.write_bytes(opened.read(member) if is_text else b"")
