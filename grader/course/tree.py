"""A submission as a tree of named files: a folder on disk, or a zip in memory.

Names are relative and have ``/`` between their parts. Nothing here follows a symbolic link, opens
anything but a regular file, or takes more memory than its caps.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import stat
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from grader.report import safe

from . import zips
from .model import NotGradable

MAX_ENTRIES = 2_000
MAX_DEPTH = 4
MAX_ZIP_BYTES = 20 * 1024 * 1024
"""Of a zip file as it is handed in."""
MAX_ZIP_ENTRIES = 20_000
"""Each takes time to look at, whatever it is."""
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
"""Of all that is read of one zip, or tried in vain."""
SUFFIXES = (".py", ".ipynb", ".zip")

_IGNORED = {"__pycache__", "__MACOSX", "venv", "env", "node_modules", "site-packages"}


class Tree(ABC):
    """Named files: ``files`` are those that may matter, ``links`` what is a symbolic link instead.

    ``others`` would matter too, if they were not named pipes, devices and the like.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.files: list[str] = []
        self.links: list[str] = []
        self.others: list[str] = []
        self.truncated = False

    @abstractmethod
    def holds(self, name: str) -> bool:
        """Whether ``name`` is a regular file, also where ``files`` was cut off before it."""

    @abstractmethod
    def read(self, name: str, *, limit: int) -> bytes:
        """The file's bytes; raises ``NotGradable``, also where there are more than ``limit``."""


class ImportableFolder(Tree):
    """A folder whose modules may be imported; it is never listed, only asked for names."""

    def __init__(self, folder: Path) -> None:
        super().__init__(shown(folder.name))
        self.path = folder

    def holds(self, name: str) -> bool:
        place = self.path
        *folders, file = PurePosixPath(name).parts
        try:
            for folder in folders:
                place /= folder
                if not stat.S_ISDIR(place.lstat().st_mode):
                    return False
            return stat.S_ISREG((place / file).lstat().st_mode)
        except (OSError, ValueError):
            return False

    def read(self, name: str, *, limit: int) -> bytes:
        return read_regular(self.path / name, limit=limit, root=self.path)


class SingleFile(ImportableFolder):
    """The folder of a file that is graded alone; its other files may be other students'."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder)
        self._name = name

    def holds(self, name: str) -> bool:
        return name == self._name and super().holds(name)

    def leaves(self, name: str) -> bool:
        """Whether there is a regular file of this name that is left where it is."""
        return not self.holds(name) and super().holds(name)


class Folder(ImportableFolder):
    """A folder that was handed in; raises ``NotGradable`` where it cannot be listed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        found = list(itertools.islice(self._walk(), MAX_ENTRIES + 1))
        self.truncated = len(found) > MAX_ENTRIES
        for name, entry in found[:MAX_ENTRIES]:
            if _matters(name):
                if _is(entry, stat.S_ISREG):
                    self.files.append(name)
                elif _is(entry, stat.S_ISLNK):
                    self.links.append(name)
                elif not _is(entry, stat.S_ISDIR):
                    self.others.append(name)
        self.files.sort()

    def _walk(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        # Breadth first, so that what is cut off is what lies deepest.
        waiting = deque([""])
        while waiting:
            prefix = waiting.popleft()
            try:
                with os.scandir(self.path / prefix) as entries:
                    listed = sorted(
                        itertools.islice(entries, MAX_ENTRIES + 1), key=lambda entry: entry.name
                    )
            except OSError as error:
                if prefix:
                    continue
                raise NotGradable(
                    f"The folder {self.label!r} cannot be read ({error.strerror})."
                ) from None
            if prefix and any(entry.name == "pyvenv.cfg" for entry in listed):
                continue
            for entry in listed:
                name = prefix + entry.name
                yield name, entry
                if name.count("/") < MAX_DEPTH and not _ignored(name) and _is(entry, stat.S_ISDIR):
                    waiting.append(name + "/")


class Archive(Tree):
    """A zip file's content; raises ``NotGradable`` for one that is broken or unsafe.

    Only what is read of it counts: what else it holds may be of any size, and damaged.
    """

    def __init__(self, label: str, data: bytes) -> None:
        super().__init__(label)
        self._file = io.BytesIO(data)
        self._members: dict[str, zips.Member] = {}
        self._twice: set[str] = set()
        self._unpacked: dict[str, int] = {}
        try:
            for number, member in enumerate(zips.members(self._file)):
                if number == MAX_ZIP_ENTRIES:
                    raise NotGradable(
                        f"{label!r} holds more than {MAX_ZIP_ENTRIES:,} files. "
                        "Hand in only your own."
                    )
                self._take(member)
        except zips.BadZip:
            raise NotGradable(
                f"{label!r} is not a zip file, or is broken. Pack it again."
            ) from None
        names = [name for name in self._members if name.count("/") <= MAX_DEPTH]
        if len(names) > MAX_ENTRIES:
            self.truncated = True
            # As in a folder, what is cut off is what lies deepest.
            names = sorted(names, key=lambda name: (name.count("/"), name))[:MAX_ENTRIES]
        for name in names:
            (self.links if self._members[name].is_link else self.files).append(name)
        self.files.sort()

    def _take(self, member: zips.Member) -> None:
        name = self._safe_name(member)
        if not _matters(name) or member.is_folder or _ignored(name):
            return
        if name in self._members:
            self._twice.add(name)
        self._members[name] = member

    def _safe_name(self, member: zips.Member) -> str:
        name = member.name.replace("\\", "/")
        parts = name.split("/")
        if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in parts:
            raise NotGradable(
                f"{self.label!r} holds {shown(name)!r}, which would be unpacked outside of it. "
                "Pack it again."
            )
        return "/".join(part for part in parts if part not in ("", "."))

    def holds(self, name: str) -> bool:
        member = self._members.get(name)
        return member is not None and not member.is_link

    def read(self, name: str, *, limit: int) -> bytes:
        if name in self._twice:
            raise NotGradable(f"{self.label!r} holds {shown(name)!r} twice. Pack it again.")
        member = self._members[name]
        if member.size > limit:
            raise _too_large(name, limit)
        self._unpacked[name] = member.size
        if sum(self._unpacked.values()) > MAX_UNPACKED_BYTES:
            raise NotGradable(
                f"The code in {self.label!r} unpacks to more than "
                f"{MAX_UNPACKED_BYTES >> 20} MiB. Hand in only your own .py and .ipynb files."
            )
        try:
            return zips.read(self._file, member, limit=limit)
        except zips.BadMember as problem:
            raise NotGradable(f"{shown(name)!r} in {self.label!r} {problem}") from None


def read_regular(path: Path, *, limit: int, root: Path | None = None) -> bytes:
    """The bytes of a regular file, at most ``limit``; raises ``NotGradable`` for all else.

    Never waits: neither for the other end of a named pipe, nor for a device. Follows no link from
    ``root`` on (by default the file's folder), whatever is exchanged for one meanwhile.
    """
    root = path.parent if root is None else root
    name = shown(path.name)
    try:
        _regular(path.lstat(), name)
        with open(_open(root, path.relative_to(root)), "rb") as stream:
            descriptor = stream.fileno()
            _regular(os.fstat(descriptor), name)
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise NotGradable(f"There is no file {name!r}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotGradable(f"{name!r} cannot be read ({reason}).") from None
    return _at_most(data, limit, name)


def _open(root: Path, place: Path) -> int:
    """A descriptor of ``place`` in ``root``, opened part by part; raises ``OSError``."""
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    if os.open not in os.supports_dir_fd:
        return os.open(root / place, flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in place.parts[:-1]:
            inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(place.name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def shown(name: str) -> str:
    """``name`` fit to be shown and sent: printable, no lone surrogates, not too long."""
    name = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in safe.name(name)
    )
    return name if len(name) <= 150 else f"{name[:100]}...{name[-40:]}"


def _regular(status: os.stat_result, name: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise NotGradable(
            f"{name!r} is a symbolic link, and links are not followed. Hand in the file itself."
        )
    if not stat.S_ISREG(status.st_mode):
        raise NotGradable(f"{name!r} is not a regular file. Hand in a .py or .ipynb file.")


def _is(entry: os.DirEntry[str], kind: Callable[[int], bool]) -> bool:
    try:
        return kind(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _at_most(data: bytes, limit: int, name: str) -> bytes:
    if len(data) > limit:
        raise _too_large(name, limit)
    return data


def _too_large(name: str, limit: int) -> NotGradable:
    return NotGradable(f"{shown(name)!r} is larger than {limit >> 20} MiB. Hand in only the code.")


def _matters(name: str) -> bool:
    path = PurePosixPath(name)
    # macOS puts a "._name" beside each file, which holds no code.
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _ignored(name: str) -> bool:
    return any(map(is_ignored, PurePosixPath(name).parts))


def is_ignored(part: str) -> bool:
    """Whether a folder of this name, or a file, is hidden or somebody else's work."""
    return part in _IGNORED or part.startswith(".")
