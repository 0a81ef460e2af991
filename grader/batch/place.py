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

Attempt: TypeAlias = tuple[int | str, ...]


class HandIn(msgspec.Struct, frozen=True, kw_only=True):
    """What one student handed in at one time: either ``folder``, or ``files``."""

    student: str
    id: str = ""
    """What the platform tells two students of the same name apart by, if it does."""
    login: str = ""
    """The name that the student logs in by, where the platform writes it."""
    email: str = ""
    platform: str = ""
    """Whose id and login it is: the name of the layout that has found it."""
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
        self._scratch = scratch

    @cached_property
    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.path) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise BatchError(f"{self.path}: cannot be read ({error.strerror})") from None

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
        return Place(folder, self.ids, self._scratch)

    def unpacked(self, archive: Path) -> Place:
        """What a platform's zip holds, unpacked into the batch's own space."""
        target = self._scratch / f"{len(list(self._scratch.iterdir()))}" / archive.stem
        target.mkdir(parents=True)
        unpack(archive, target)
        return self.below(target)

    def assignment_in(self, name: str) -> str:
        """The assignment that a file's or folder's name mentions, or nothing."""
        words = re.sub(r"[^a-z0-9]+", "_", f"_{name.lower()}_")
        return next(
            (id for id in sorted(self.ids, key=len, reverse=True) if f"_{id.lower()}_" in words), ""
        )


class Layout(Protocol):
    """A module of ``grader.batch.layouts``."""

    __name__: str
    TITLE: str
    """What to call it, after "found"."""
    ORDER: int
    """Layouts are tried from the lowest: the surest signs first."""

    def find(self, place: Place) -> list[HandIn]:
        """What was handed in; nothing if the place is not laid out like this."""
        ...


def normal(name: str) -> str:
    """A person's name as it is compared: Unicode NFC, single spaces, case kept."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")
