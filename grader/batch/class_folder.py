"""A folder that may hold a class's submissions, and what a layout reads from it."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from grader.batch.errors import BatchError
from grader.batch.unpacking import unpack
from grader.course.model import NotGradable
from grader.course.tree import MAX_ZIP_BYTES, SUFFIXES, Archive, Folder, read_regular
from grader.report import safe

MAX_ZIPS_IN_ZIPS = 3

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
    is_named_freely: bool = False
    """Whether that is read off a file's name as somebody has chosen it."""
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


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a layout finds in a folder; without hand-ins, the layout does not fit."""

    hand_ins: list[HandIn] = []
    signs: frozenset[Path] | None = None
    """The entries of the folder that this layout itself has named or made. None: those that the
    hand-ins lie in."""
    left_out: list[str] = []
    """What is nobody's, beyond the entries that bear no sign: inside of them, or beside."""


class ClassFolder:
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
        """Files and links in it that may be or contain code, by name."""
        return [
            Path(entry.path)
            for entry in self._entries
            if not _ignored(entry.name)
            and not entry.is_dir(follow_symlinks=False)
            and entry.name.lower().endswith(SUFFIXES)
        ]

    @cached_property
    def others(self) -> list[Path]:
        """All other files, which are not code: a student may have handed in nothing else."""
        known = {path.name for path in self.files}
        return [
            Path(entry.path)
            for entry in self._entries
            if not _ignored(entry.name)
            and entry.is_file(follow_symlinks=False)
            and entry.name not in known
        ]

    @property
    def entries(self) -> list[Path]:
        """The folders, and the files that may be code."""
        return [*self.folders, *self.files]

    def below(self, folder: Path) -> ClassFolder:
        """The folder ``folder`` of the same batch."""
        class_folder = ClassFolder(folder, self.ids, self._scratch)
        class_folder.outside, class_folder._problems, class_folder._depth = (
            self.outside,
            self._problems,
            self._depth,
        )
        return class_folder

    def unpacked(self, archive: Path) -> ClassFolder:
        """The content of a platform's zip, unpacked into the batch's scratch folder."""
        if self._depth == MAX_ZIPS_IN_ZIPS:
            raise BatchError(f"{archive}: is a zip in a zip in a zip; unpack it first")
        class_folder = self.empty(archive.stem if archive.stem.strip(".") else "zip")
        done = unpack(archive, class_folder.path)
        self.outside += [f"{archive.name}: {name}" for name in done.outside]
        for path, problem in done.problems.items():
            for part in (path, *path.parents):
                if part == class_folder.path.parent:
                    break
                self._problems.setdefault(part, problem)
        class_folder._depth += 1
        return class_folder

    def empty(self, name: str = "class") -> ClassFolder:
        """A new folder of this name in the batch's scratch folder."""
        target = self._scratch / f"{len(list(self._scratch.iterdir()))}" / name
        target.mkdir(parents=True)
        return self.below(target)

    def problem_with(self, hand_in: HandIn) -> str:
        """Why a part of the hand-in could not be unpacked; empty if all of it could."""
        found = (self._problems.get(source) for source in hand_in.sources)
        return next((problem for problem in found if problem), "")

    def assignment_in(self, name: str) -> str:
        """The assignment that a file's or folder's name mentions, or the empty string."""
        words = re.sub(r"[^a-z0-9]+", "_", f"_{name.lower()}_")
        return next(
            (id for id in sorted(self.ids, key=len, reverse=True) if f"_{id.lower()}_" in words), ""
        )


class Layout(Protocol):
    """A module of ``grader.batch.layouts``, which ``--layout`` calls by its file's name."""

    __name__: str
    TITLE: str
    """What to call it, after "found"."""
    ORDER: int
    """Where it stands in the list: platforms' own layouts come first, guesses last."""

    def find(self, class_folder: ClassFolder) -> Reading:
        """The hand-ins in a folder, if it has this layout.

        It goes by what the platform writes, never by a part of a name that a student chooses, and
        judges each entry by itself: no entry decides what becomes of another. Most entries win.
        """
        ...


def holds_code(path: Path) -> bool:
    """Whether a file, or what a folder or zip holds, may be code; a broken zip may have been."""
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            return bool(Folder(path).files)
        if path.suffix.lower() == ".zip":
            return bool(Archive(path.name, read_regular(path, limit=MAX_ZIP_BYTES)).files)
        return path.suffix.lower() in SUFFIXES
    except (OSError, ValueError, NotGradable):
        return path.suffix.lower() in SUFFIXES


def code_or_all(files: dict[str, Path]) -> dict[str, Path]:
    """The files of a student that may be code; if there are none, all, to be refused by name."""
    code = {name: path for name, path in files.items() if name.lower().endswith(SUFFIXES)}
    return code or files


def normal(name: str) -> str:
    """A person's name for comparison: Unicode NFC, single spaces, case kept, valid UTF-8."""
    return " ".join(unicodedata.normalize("NFC", safe.name(name)).split())


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")
