"""Moodle's "download all submissions": ``Name_12345_assignsubmission_file``, folders or files."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from grader.batch.class_folder import ClassFolder, HandIn, Reading, code_or_all

TITLE = "a Moodle download (Name_12345_assignsubmission_file)"
ORDER = 20

# In a folder's name the mark comes last, after whatever name a student has. In a file's name the
# file's own name comes last, which may look like a mark: the first is Moodle's, which writes no
# underscores into people's names.
_FOLDER = re.compile(r"(.+)_(\d+)_assignsubmission_(file|onlinetext)_?", re.DOTALL)
_FILE = re.compile(r"(.+?)_(\d+)_assignsubmission_file_(.+)", re.DOTALL)


def find(class_folder: ClassFolder) -> Reading:
    """A folder each, or where folders are switched off the files of each participant."""
    found: dict[tuple[str, str], HandIn] = {}
    texts: dict[tuple[str, str], Path] = {}
    signs = set()
    for folder in class_folder.folders:
        if match := _FOLDER.fullmatch(folder.name):
            signs.add(folder)
            who = (match[1], match[2])
            if match[3] == "file":
                found[who] = HandIn(student=who[0], id=who[1], folder=folder)
            else:
                texts[who] = folder
    files: dict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for path in (*class_folder.files, *class_folder.others):
        if match := _FILE.fullmatch(path.name):
            signs.add(path)
            files[match[1], match[2]][match[3]] = path
    hand_ins = [*found.values()]
    hand_ins += [
        HandIn(student=name, id=id, files=code_or_all(named)) for (name, id), named in files.items()
    ]
    hand_ins += [
        HandIn(
            student=name,
            id=id,
            folder=folder,
            notes=["Only an online text was handed in, and no file."],
        )
        for (name, id), folder in texts.items()
        if (name, id) not in found and (name, id) not in files
    ]
    return Reading(hand_ins=hand_ins, signs=frozenset(signs.intersection(class_folder.entries)))
