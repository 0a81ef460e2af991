"""Zip files that students made or filled: their directory, and one member at a time.

The standard library refuses a whole zip for one entry that is odd. Here what is amiss with a member
costs that member, and only if it is read. No more is taken into memory than was asked for.
"""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

STORED, DEFLATED = 0, 8

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_ENCRYPTED, _UTF8 = 0x1, 0x800
_ZIP64, _UNIX_TIMES = 0x0001, 0x5455
_ALL_ONES = 0xFFFFFFFF
_MOST_COMMENT = 0xFFFF
_CHUNK = 1 << 16


class BadZip(Exception):
    """The file is not a zip file, or its directory is damaged."""


class BadMember(Exception):
    """A member that cannot be read; the text goes on after its name, and says what to do."""


class Member(msgspec.Struct, frozen=True):
    """An entry of the directory, unchecked."""

    name: str
    """Surrogates stand for bytes that are not UTF-8, as in paths of a disk."""
    size: int
    packed: int
    start: int
    """Where in the file its header is."""
    flags: int
    method: int
    crc: int
    mode: int
    """Unix's, or 0."""
    changed: int
    """When, in seconds since 1970; 0 where only a date without a time zone is given."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


def members(file: BinaryIO) -> Iterator[Member]:
    """The entries of a zip's directory, one by one, so that whoever takes them can stop.

    Raises BadZip, also after some of them.
    """
    start, size, shift = _directory(file)
    file.seek(start)
    directory = io.BufferedReader(_Part(file, start, size))
    while head := directory.read(_ENTRY.size):
        if len(head) < _ENTRY.size:
            raise BadZip
        signature, *_, name_size, extra_size, comment_size, _, _, attributes, offset = (
            entry := _ENTRY.unpack(head)
        )
        flags, method, _, _, crc, packed, unpacked = entry[5:12]
        name, extra = directory.read(name_size), directory.read(extra_size)
        comment = directory.read(comment_size)
        if signature != b"PK\x01\x02" or len(comment) < comment_size:
            raise BadZip
        fields = _fields(extra)
        sizes = _in_64_bits([unpacked, packed, offset], fields.get(_ZIP64, b""))
        yield Member(
            name=_decoded(name.split(b"\0")[0], flags),
            size=sizes[0],
            packed=sizes[1],
            start=sizes[2] + shift,
            flags=flags,
            method=method,
            crc=crc,
            mode=attributes >> 16,
            changed=_changed(fields.get(_UNIX_TIMES, b"")),
        )


def read(file: BinaryIO, member: Member, *, limit: int) -> bytes:
    """The bytes of a member; at most ``limit + 1``, which then is not all. Raises BadMember."""
    if member.flags & _ENCRYPTED:
        raise BadMember("is encrypted. Pack it without a password.")
    # The other methods unpack without a bound.
    if member.method not in (STORED, DEFLATED):
        raise BadMember("is packed in an unusual way. Pack it as an ordinary zip.")
    try:
        data = _unpacked(file, member, limit + 1)
    except (zlib.error, OSError, ValueError, OverflowError, struct.error):
        data = None
    wrong = data is None or (len(data) <= limit and zlib.crc32(data) != member.crc)
    if data is None or wrong:
        raise BadMember("cannot be unpacked. Pack it again.")
    return data


def _unpacked(file: BinaryIO, member: Member, most: int) -> bytes | None:
    """The member's bytes, no more than ``most``; None where there are not as many as it says."""
    file.seek(member.start)
    signature, *_, name_size, extra_size = _LOCAL.unpack(file.read(_LOCAL.size))
    if signature != b"PK\x03\x04":
        return None
    file.seek(name_size + extra_size, io.SEEK_CUR)
    if member.method == STORED:
        data = file.read(min(member.packed, most))
        return data if len(data) == min(member.size, most) else None
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    unpacked = bytearray()
    left, most = member.packed, min(member.size, most)
    while len(unpacked) < most and not unpacker.eof:
        chunk = unpacker.unconsumed_tail or file.read(min(_CHUNK, left))
        if not chunk:
            break
        if not unpacker.unconsumed_tail:
            left -= len(chunk)
        unpacked += unpacker.decompress(chunk, most - len(unpacked))
    return bytes(unpacked) if len(unpacked) == most else None


def _directory(file: BinaryIO) -> tuple[int, int, int]:
    """Where the directory begins, its size, and by how much all that it says is off."""
    length = file.seek(0, io.SEEK_END)
    base = max(0, length - _END.size - _MOST_COMMENT)
    file.seek(base)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise BadZip
    *_, size, offset, _ = _END.unpack_from(tail, at)
    end = base + at
    if _ALL_ONES in (size, offset) and (found := _end_64(file, end)):
        end, size, offset = found
    start = end - size
    if start < 0 or offset > start:
        raise BadZip
    return start, size, start - offset


def _end_64(file: BinaryIO, end: int) -> tuple[int, int, int] | None:
    place = end - _LOCATOR64.size - _END64.size
    if place < 0:
        return None
    file.seek(place)
    signature, *_, size, offset = _END64.unpack(file.read(_END64.size))
    return (place, size, offset) if signature == b"PK\x06\x06" else None


def _fields(extra: bytes) -> dict[int, bytes]:
    """An entry's further fields, as far as they are whole."""
    found: dict[int, bytes] = {}
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        found.setdefault(kind, extra[4 : 4 + size])
        extra = extra[4 + size :]
    return found


def _in_64_bits(sizes: list[int], field: bytes) -> list[int]:
    """``sizes``, those that need more than 32 bits as the field for them has them."""
    found = []
    for size in sizes:
        if size == _ALL_ONES and len(field) >= 8:
            (size,), field = struct.unpack_from("<Q", field), field[8:]
        found.append(size)
    return found


def _changed(field: bytes) -> int:
    return int.from_bytes(field[1:5], "little") if len(field) >= 5 and field[0] & 1 else 0


def _decoded(name: bytes, flags: int) -> str:
    """The name; some programs write UTF-8 without saying so, and others say so and write none."""
    if flags & _UTF8:
        return name.decode("utf-8", "surrogateescape")
    with contextlib.suppress(UnicodeDecodeError):
        return name.decode("utf-8")
    return name.decode("cp437")


class _Part(io.RawIOBase):
    """The bytes of ``file`` from ``start`` on, to be read in order while others read elsewhere."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file = file
        self._at = start
        self._end = start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        self._file.seek(self._at)
        data = self._file.read(min(len(view), self._end - self._at))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
