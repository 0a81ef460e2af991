"""A platform's zip of a whole class, unpacked. What students put into it is hostile."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from grader.batch.bugs import is_of_machine
from grader.batch.errors import BatchError
from grader.course import zips
from grader.course.finding import READ_BYTES
from grader.course.tree import is_ignored, shown

MAX_MEMBERS = 1_000_000
MAX_UNPACKED_BYTES = 8 << 30
MAX_PARTS = 64
MAX_PART_BYTES = 255
MAX_PATH_BYTES = 2_000
DEPTH_OF_FOLDERS = 8
"""Folders that hold nothing to unpack are made so deep: that somebody has one is all they say."""

GRADESCOPE_METADATA = "submission_metadata.yml"
_TEXT_BYTES, _METADATA_BYTES = 1 << 20, 512 << 20
_CLASH = "has the name of a folder or of another file. Rename it."


class Unpacked(msgspec.Struct):
    """What could not be unpacked of a zip."""

    problems: dict[Path, str]
    """Why, by where it would be; there is an empty file, so that whoever it belongs to is seen."""
    outside: list[str]
    """Names that lead out of the zip, and so to nobody."""


class _Entry(msgspec.Struct):
    member: zips.Member
    parts: list[str]

    @property
    def suffix(self) -> str:
        return os.path.splitext(self.parts[-1])[1].lower()

    @property
    def is_code(self) -> bool:
        return self.limit > 0 and self.suffix in READ_BYTES

    @property
    def limit(self) -> int:
        """How much of it is of use; 0 for what is neither code nor a platform's own."""
        # The first two may be the class's own and a student's, whatever they are called.
        if any(is_ignored(part) and part != ".." for part in self.parts[2:]):
            return 0
        if self.parts[-1] == GRADESCOPE_METADATA:
            return _METADATA_BYTES
        return _TEXT_BYTES if self.suffix == ".txt" else READ_BYTES.get(self.suffix, 0)


def unpack(archive: Path, target: Path) -> Unpacked:
    """Write what may matter of a zip below the folder ``target``; folders are made for the rest.

    What is amiss with one member is that member's. Raises BatchError for what is no zip, for one
    that is too much to look at, and where the disk is full.
    """
    try:
        with archive.open("rb") as file:
            return _Unpacking(archive, file, target).run()
    except zips.BadZip:
        raise BatchError(f"{archive}: is not a zip file, or is broken") from None
    except OSError as error:
        raise BatchError(f"{archive}: cannot be unpacked ({error.strerror})") from None


class _Unpacking:
    def __init__(self, archive: Path, file: BinaryIO, target: Path) -> None:
        self._archive = archive
        self._file = file
        self._target = target
        self._left = MAX_UNPACKED_BYTES
        self._done = Unpacked(problems={}, outside=[])

    def run(self) -> Unpacked:
        entries = list(self._entries())
        outside = [entry for entry in entries if ".." in entry.parts]
        entries = [entry for entry in entries if ".." not in entry.parts]
        times = Counter(tuple(entry.parts) for entry in entries if entry.limit)
        # The smallest first: where there is too much of it, the large are what is left out.
        for entry in sorted(entries, key=lambda entry: entry.member.size):
            self._place(entry, twice=times[tuple(entry.parts)] > 1)
        for entry in outside:
            self._leads_out(entry)
        return self._done

    def _entries(self) -> Iterable[_Entry]:
        members: list[zips.Member] = []
        for member in zips.members(self._file):
            if len(members) == MAX_MEMBERS:
                raise BatchError(f"{self._archive}: holds more than {MAX_MEMBERS:,} files")
            members.append(member)
        names = [member.name for member in members]
        # To some programs on Windows it is what parts folders; elsewhere it is part of a name.
        windows = sum("\\" in name for name in names) * 2 > len(names)
        if windows and not any("/" in name for name in names):
            names = [name.replace("\\", "/") for name in names]
        for member, name in zip(members, names, strict=True):
            parts = [part for part in name.split("/") if part not in ("", ".")]
            if parts:
                yield _Entry(member, parts)

    def _leads_out(self, entry: _Entry) -> None:
        """Nothing is written of it; it belongs to whoever the beginning of its name does."""
        inside = entry.parts[: entry.parts.index("..")]
        if not inside:
            self._done.outside.append(shown(entry.member.name))
            return
        self._make_folder(_Entry(entry.member, [*inside, ""]))
        path = self._target.joinpath(*_fitting(inside))
        self._problem(entry, path, "leads out of its folder. Pack it again.")

    def _place(self, entry: _Entry, *, twice: bool) -> None:
        """Write one member, or what is to be seen of it."""
        if entry.member.is_folder or not entry.limit:
            self._make_folder(entry)
            if not entry.member.is_folder:
                self._mark(entry)
            return
        parts = _fitting(entry.parts)
        path = self._target.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if twice:
                reason = "occurs twice. Hand it in once."
            elif parts != entry.parts:
                reason = "has a name or a path that no disk can hold. Give it a shorter one."
            else:
                reason = self._write(entry, path)
            if reason:
                path.touch()
        except OSError as error:
            if is_of_machine(error):
                raise
            reason = _CLASH
        if reason:
            self._problem(entry, path, reason)

    def _mark(self, entry: _Entry) -> None:
        """Let it be seen that there is a file that cannot be code, so that its owner is listed."""
        path = self._target.joinpath(*_fitting(entry.parts))
        with contextlib.suppress(OSError):  # in a folder that is not made, nobody looks for it
            path.touch()
            os.utime(path, (entry.member.changed,) * 2)

    def _write(self, entry: _Entry, path: Path) -> str:
        """Write a member's bytes, and say why that cannot be done."""
        member, limit = entry.member, entry.limit
        if path.exists():
            return _CLASH
        if member.is_link:
            path.symlink_to("a link in a zip leads nowhere")
            return ""
        if member.size > limit:
            if entry.is_code:  # it is seen to be too large where it is read, if it is
                with path.open("xb") as file:
                    file.truncate(limit + 1)
            return ""
        if member.size > self._left:
            return f"does not fit: all that is packed here is over {MAX_UNPACKED_BYTES >> 30} GiB."
        try:
            data = zips.read(self._file, member, limit=limit)
        except zips.BadMember as problem:
            return str(problem)
        self._left -= len(data)
        with path.open("xb") as file:
            file.write(data)
        with contextlib.suppress(OSError):  # a date that the disk does not have
            os.utime(path, (member.changed,) * 2)
        return ""

    def _make_folder(self, entry: _Entry) -> None:
        """Make the folder that a member is or lies in, so that whoever owns it is seen."""
        parts = entry.parts if entry.member.is_folder else entry.parts[:-1]
        depth = next((at + 1 for at, part in enumerate(parts) if is_ignored(part)), len(parts))
        path = self._target.joinpath(*_fitting(parts[: min(depth, DEPTH_OF_FOLDERS)]))
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if is_of_machine(error):
                raise
            self._problem(entry, path, _CLASH)

    def _problem(self, entry: _Entry, path: Path, why: str) -> None:
        if not entry.is_code:
            return  # it would not have been looked at
        label = f"{shown(entry.member.name)!r} in {shown(self._archive.name)!r}"
        self._done.problems.setdefault(path, f"{label} {why}")


def _fitting(parts: list[str]) -> list[str]:
    """``parts`` of a path as a disk can hold them: shortened, if they have to be."""
    if len(parts) > MAX_PARTS or sum(len(os.fsencode(part)) + 1 for part in parts) > MAX_PATH_BYTES:
        parts = [*parts[:DEPTH_OF_FOLDERS], parts[-1]]
    return [_fitting_part(part) for part in parts]


def _fitting_part(part: str) -> str:
    raw = os.fsencode(part)
    if len(raw) <= MAX_PART_BYTES:
        return part
    digest = hashlib.sha256(raw).hexdigest()[:12]
    suffix = os.path.splitext(part)[1]
    suffix = suffix if len(os.fsencode(suffix)) < 20 else ""
    return f"{raw[:150].decode('utf-8', 'ignore')}~{digest}{suffix}"
