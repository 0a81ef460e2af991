"""When something was handed in: what the platform says, or git, or the file's own date."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zoneinfo
from datetime import datetime
from pathlib import Path

import msgspec

from grader.batch.class_folder import HandIn
from grader.batch.dates import from_seconds
from grader.batch.errors import BatchError
from grader.course.model import NotGradable
from grader.course.tree import Folder, read_regular

PLATFORM, GIT, FILE = "the platform's date", "the last commit's date", "the file's date"
UNKNOWN = "It is unknown when this was handed in, so no points are deducted for lateness."

_COMMIT = re.compile(rb"^committer [^\n]*> (\d{1,12}) [+-]\d{4}$", re.M)
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECONDS = 20.0


class HandInTime(msgspec.Struct, frozen=True, kw_only=True):
    """A moment, with its time zone, and who says so."""

    at: datetime
    source: str


def when_handed_in(hand_in: HandIn, timezone: str) -> HandInTime | None:
    """When that was; ``timezone`` is that of a platform's dates which have none.

    Raises BatchError for such a date where there is no ``timezone`` either.
    """
    if (at := hand_in.at) is not None:
        if at.tzinfo is None:
            if not timezone:
                raise BatchError(
                    f"{hand_in.student}: the platform says {at}, without a time zone. Write the "
                    "platform's into course.toml, below [late]: timezone = 'Europe/Berlin'"
                )
            at = at.replace(tzinfo=zoneinfo.ZoneInfo(timezone))
        return HandInTime(at=at, source=PLATFORM)
    if hand_in.folder is not None and (at := _committed(hand_in.folder / ".git")) is not None:
        return HandInTime(at=at, source=GIT)
    # What was unpacked from an archive that has no dates lies at the beginning of time.
    dates = [date for source in hand_in.sources for date in _dates(source) if date]
    moments = [found for date in dates if (found := from_seconds(date))]
    return HandInTime(at=max(moments), source=FILE) if moments else None


def _dates(source: Path) -> list[float]:
    """When the files that may be code were last changed; links are not followed."""
    try:
        if source.is_dir() and not source.is_symlink():
            return [(source / name).lstat().st_mtime for name in Folder(source).files]
        return [source.lstat().st_mtime]
    except (OSError, NotGradable):
        return []


def _committed(repository: Path) -> datetime | None:
    """When the last commit was made, if that can be told.

    The repository is a student's, whose configuration can name programs for git to run: its objects
    are read from a repository of our own.
    """
    try:
        commit = _head(repository)
        if commit is None:
            return None
        with tempfile.TemporaryDirectory(prefix="grader-git-") as own:
            _git(own, "init", "--quiet", "--bare")
            objects = os.fsencode(repository.resolve() / "objects")
            if b"\n" in objects:
                return None  # it would be two places
            Path(own, "objects", "info", "alternates").write_bytes(objects + b"\n")
            found = _COMMIT.search(_git(own, "cat-file", "commit", commit))
        return from_seconds(int(found[1])) if found else None
    except (OSError, ValueError, NotGradable, subprocess.SubprocessError):
        return None


def _head(repository: Path) -> str | None:
    """The commit that is checked out."""

    def text(name: str) -> str:
        return read_regular(repository / name, limit=1 << 20, root=repository).decode().strip()

    head = text("HEAD")
    if head.startswith("ref: refs/") and ".." not in head:
        name = head.removeprefix("ref: ")
        try:
            head = text(name)
        except NotGradable:
            packed = re.search(rf"^([0-9a-f]+) {re.escape(name)}$", text("packed-refs"), re.M)
            head = packed[1] if packed else ""
    return head if _HASH.fullmatch(head) else None


def _git(folder: str, *words: str) -> bytes:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=environment | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_DIR": folder},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=True,
    )
    return done.stdout
