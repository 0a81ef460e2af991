"""What platforms' layouts are read from and turned into: a folder, and who handed in what."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from grader.batch.errors import BatchError
from grader.batch.unpacking import unpack
from grader.course.tree import SUFFIXES
from grader.report import safe

MAX_ZIPS_IN_ZIPS = 3

Attempt: TypeAlias = tuple[int | str, ...]


class HandIn(msgspec.Struct, frozen=True, kw_only=True):
    """What one student handed in at one time: either ``folder``, or ``files``."""

    student: str
    id: str = ""
    """What the platform tells two students of the same name apart by, if it does."""
    assignment: str = ""
    """What the platform calls the assignment; empty where it does not say."""
    attempt: Attempt = ()
    """The greatest of one student's for one assignment is the last one, which counts."""
    at: datetime | None = None
    """When the platform says that was; without a time zone where it gives none."""
    folder: Path | None = None
    files: dict[str, Path] = {}
    """By the name that the student gave it."""
    notes: list[str] = []

    @property
    def sources(self) -> list[Path]:
        return [self.folder] if self.folder is not None else list(self.files.values())


class Place:
    """A folder that may hold a whole class's submissions, in a course with assignments ``ids``."""

    def __init__(self, path: Path, ids: Sequence[str], scratch: Path) -> None:
        self.path = path
        self.ids = tuple(ids)
        self.outside: list[str] = []
        """Names in zips that lead out of them."""
        self._scratch = scratch
        self._problems: dict[Path, str] = {}
        self._depth = 0

    @cached_property
    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.path) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return []  # somebody's folder, which is seen to be unreadable where it is graded

    @cached_property
    def folders(self) -> list[Path]:
        """Folders in it, by name; without hidden ones and what systems leave behind."""
        return [
            Path(entry.path)
            for entry in self._entries
            if not _ignored(entry.name) and entry.is_dir(follow_symlinks=False)
        ]

    @cached_property
    def files(self) -> list[Path]:
        """Files and links in it that may be code or hold some, by name."""
        return [
            Path(entry.path)
            for entry in self._entries
            if not _ignored(entry.name)
            and not entry.is_dir(follow_symlinks=False)
            and entry.name.lower().endswith(SUFFIXES)
        ]

    def below(self, folder: Path) -> Place:
        """The place ``folder``, in the same batch."""
        place = Place(folder, self.ids, self._scratch)
        place.outside, place._problems, place._depth = self.outside, self._problems, self._depth
        return place

    def unpacked(self, archive: Path) -> Place:
        """What a platform's zip holds, unpacked into the batch's own space."""
        if self._depth == MAX_ZIPS_IN_ZIPS:
            raise BatchError(f"{archive}: is a zip in a zip in a zip; unpack it first")
        place = self.empty(archive.stem if archive.stem.strip(".") else "zip")
        done = unpack(archive, place.path)
        self.outside += [f"{archive.name}: {name}" for name in done.outside]
        for path, problem in done.problems.items():
            for part in (path, *path.parents):
                if part == place.path.parent:
                    break
                self._problems.setdefault(part, problem)
        place._depth += 1
        return place

    def empty(self, name: str = "class") -> Place:
        """A new folder of this name in the batch's own space."""
        target = self._scratch / f"{len(list(self._scratch.iterdir()))}" / name
        target.mkdir(parents=True)
        return self.below(target)

    def problem_with(self, hand_in: HandIn) -> str:
        """What of a hand-in could not be unpacked, and why; empty where that is nothing."""
        found = (self._problems.get(source) for source in hand_in.sources)
        return next((problem for problem in found if problem), "")

    def assignment_in(self, name: str) -> str:
        """The assignment that a file's or folder's name mentions, or nothing."""
        words = re.sub(r"[^a-z0-9]+", "_", f"_{name.lower()}_")
        return next(
            (id for id in sorted(self.ids, key=len, reverse=True) if f"_{id.lower()}_" in words), ""
        )


class Layout(Protocol):
    """A module of ``grader.batch.layouts``."""

    TITLE: str
    """What to call it, after "found"."""
    ORDER: int
    """Layouts are tried from the lowest: the surest signs first."""

    def find(self, place: Place) -> list[HandIn]:
        """What was handed in; nothing if the place is not laid out like this."""
        ...


def normal(name: str) -> str:
    """A person's name as it is compared: Unicode NFC, single spaces, case kept, valid UTF-8."""
    return " ".join(unicodedata.normalize("NFC", safe.name(name)).split())


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")
