"""Packs a course into one file, for machines that do not have it."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from grader.batch.errors import BatchError
from grader.course.archive import zipped
from grader.course.loading import ASSIGNMENTS, HIDDEN, SOLUTIONS
from grader.course.model import Course

MAX_BYTES = 256 << 20


def pack_course(course: Course) -> bytes:
    """The course's files as a zip, the private ones too; equal courses make equal zips.

    Raises BatchError where a file cannot be read, or for more than is sent.
    """
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    for folder in (ASSIGNMENTS, SOLUTIONS, HIDDEN):
        for path in _files(course.root / folder):
            try:
                data = path.read_bytes()
            except OSError as error:
                raise BatchError(f"{path}: cannot be read ({error.strerror})") from None
            left -= len(data)
            if left < 0:
                raise BatchError(
                    f"{course.root}: assignments/, solutions/ and tests/hidden/ hold more than "
                    f"{MAX_BYTES >> 20} MiB, which is too much to send"
                )
            files[path.relative_to(course.root).as_posix()] = data
    return zipped(files)


def unpack_course(data: bytes, digest: str, folder: Path) -> None:
    """Write a packed course into ``folder``; raises ValueError if it is not that of ``digest``."""
    if digest_of(data) != digest:
        raise ValueError("the course was damaged on its way to the worker")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)


def digest_of(data: bytes) -> str:
    """The SHA-256 of a packed course, in hex."""
    return hashlib.sha256(data).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Regular files, and links to some, by name; not what is hidden or was compiled."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one != "__pycache__" and one[0] != ".")
        for name in sorted(names):
            path = Path(parent, name)
            if name[0] != "." and path.is_file():
                yield path
