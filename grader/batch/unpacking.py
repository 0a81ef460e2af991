"""A platform's zip of a whole class, unpacked. What students put into it is hostile."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path

from grader.batch.errors import BatchError
from grader.course.tree import MAX_ZIP_BYTES, SUFFIXES

MAX_MEMBERS = 200_000
MAX_BYTES = 8 << 30
MAX_FILE_BYTES = MAX_ZIP_BYTES + 1
"""One more than is read of a submission's file, so that a larger one is still seen to be that."""
MAX_METADATA_BYTES = 512 << 20

_UNIX_TIMES = 0x5455
_METADATA = (".yml", ".txt")


def unpack(archive: Path, target: Path) -> None:
    """Write what may matter of a zip below the folder ``target``; folders are made for the rest.

    Links are left out. Raises BatchError for what is no zip, or one that cannot be a class's.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            if len(members) > MAX_MEMBERS:
                raise BatchError(f"{archive}: holds more than {MAX_MEMBERS:,} files")
            left = MAX_BYTES
            for member in members:
                left -= _unpack_member(opened, member, target)
                if left < 0:
                    raise BatchError(f"{archive}: unpacks to more than {MAX_BYTES >> 30} GiB")
    except (OSError, ValueError, RuntimeError, NotImplementedError, EOFError) as error:
        raise BatchError(f"{archive}: cannot be unpacked ({error})") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise BatchError(f"{archive}: is not a zip file, or a broken one ({error})") from None


def _unpack_member(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> int:
    parts = [part for part in _name(member).split("/") if part not in ("", ".")]
    if not parts or ".." in parts or stat.S_ISLNK(member.external_attr >> 16):
        return 0
    path = target.joinpath(*parts)
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = path.suffix.lower()
    if suffix not in (*SUFFIXES, *_METADATA):
        return 0
    limit = MAX_METADATA_BYTES if suffix in _METADATA else MAX_FILE_BYTES
    written = 0
    with opened.open(member) as source, path.open("wb") as file:
        while written < limit and (data := source.read(min(1 << 20, limit - written))):
            file.write(data)
            written += len(data)
    os.utime(path, (_changed(member),) * 2)
    return written


def _changed(member: zipfile.ZipInfo) -> int:
    """When the file was last changed, in seconds since 1970; 0 where the zip does not say so.

    A zip's own dates have no time zone; Unix's field for them does.
    """
    extra = member.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNIX_TIMES and len(field) >= 5 and field[0] & 1:
            return int.from_bytes(field[1:5], "little")
    return 0


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; some platforms write UTF-8 without saying so."""
    name = member.filename
    if not member.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")
