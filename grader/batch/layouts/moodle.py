"""Moodle's "download all submissions": ``Name_12345_assignsubmission_file``, folders or files."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from grader.batch.place import HandIn, Place

TITLE = "a Moodle download (Name_12345_assignsubmission_file)"
ORDER = 20

_ENTRY = re.compile(r"(.+?)_(\d+)_assignsubmission_(file|onlinetext)_?(.*)")


def find(place: Place) -> list[HandIn]:
    """A folder each, or where folders are switched off the files of each participant."""
    found = []
    texts = {}
    for folder in place.folders:
        if match := _ENTRY.fullmatch(folder.name):
            if match[3] == "file":
                found.append(HandIn(student=match[1], id=match[2], folder=folder))
            else:
                texts[match[1], match[2]] = folder
    files: dict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for path in place.files:
        if (match := _ENTRY.fullmatch(path.name)) and match[3] == "file" and match[4]:
            files[match[1], match[2]][match[4]] = path
    found += [HandIn(student=name, id=id, files=named) for (name, id), named in files.items()]
    others = {(one.student, one.id) for one in found}
    for (name, id), folder in texts.items():
        if (name, id) in others:
            continue
        found.append(
            HandIn(
                student=name,
                id=id,
                folder=folder,
                notes=["Only an online text was handed in, and no file."],
            )
        )
    return found
