"""Encodes, decodes and writes reports, without losing an earlier file."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any

import msgspec

from grader.report import safe
from grader.report.model import SCHEMA_VERSION, CourseReport, Report


class ReportError(Exception):
    """A file that is not a report, or a place where none can be written; the text says which."""


def encode(report: msgspec.Struct) -> bytes:
    """``report`` as indented JSON in UTF-8, with a line end.

    Lone surrogates, which UTF-8 cannot hold and a student can print, become their escapes. What a
    terminal or a CI system's log would act on is written as JSON's escapes.
    """
    try:
        compact = msgspec.json.encode(report)
    except UnicodeEncodeError:
        compact = msgspec.json.encode(_encodable(msgspec.to_builtins(report)))
    return safe.json(msgspec.json.format(compact, indent=2)) + b"\n"


def _encodable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
        case list():
            return [_encodable(item) for item in value]
        case dict():
            return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


class _Header(msgspec.Struct):
    """The part of a report that every version of it has."""

    type: str
    schema_version: int


def decode(data: bytes) -> Report | CourseReport:
    """The report that ``data`` holds.

    Raises:
        ReportError: it is not JSON, not a report, or a report of another schema version.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        header = msgspec.json.decode(data, type=_Header)
        if header.type not in ("report", "course-report"):
            raise ReportError(f"not a report: its type is {header.type!r}")
        if header.schema_version != SCHEMA_VERSION:
            raise ReportError(
                f"a report of schema version {header.schema_version}; "
                f"this grader reads version {SCHEMA_VERSION}"
            )
        return msgspec.json.decode(data, type=Report | CourseReport)
    except msgspec.ValidationError as error:
        raise ReportError(f"not a report: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = "the file is empty" if not data.strip() else str(error)
        raise ReportError(f"not JSON: {reason}") from None
    except RecursionError:
        raise ReportError("not a report: nested too deeply") from None


def check_destination(path: str | os.PathLike[str]) -> None:
    """Check that a report can be written to ``path``, before grading rather than after.

    Raises:
        ReportError: the folder is missing, the path is a folder or a symbolic link, or a
            permission is.
    """
    path = Path(path)
    folder = path.parent
    try:
        if path.is_symlink() and path.is_file():
            # Followed, a link that a student put there would let the grader overwrite any file;
            # replaced, one such as /dev/stdout would be gone.
            raise ReportError(f"cannot write {path}: it is a symbolic link; name the file itself")
        if path.is_dir():
            raise ReportError(f"cannot write {path}: it is a folder")
        if path.exists():
            if not os.access(path, os.W_OK):
                raise ReportError(f"cannot write {path}: no permission to change the file")
            if not path.is_file():
                return
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise ReportError(f"cannot write {path}: {folder} {what}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ReportError(f"cannot write {path}: no permission to write in {folder}")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}") from None


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of ``data`` to the file ``path``, or leave the file as it was.

    An existing file keeps its mode. Devices and pipes are written to as they are.

    Raises:
        ReportError: as :func:`check_destination`.
        OSError: the system refused, for example because the disk is full.
    """
    path = Path(path)
    check_destination(path)
    mode = None
    if path.exists():
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            path.write_bytes(data)
            return
        mode = stat.S_IMODE(status.st_mode)
    # Not tempfile: its files are 0600, and a new report is to follow the umask.
    temporary = path.with_name(f".report-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name in ``folder`` last, where the system knows how to."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
