"""Zips that no honest program writes: each member says what it likes of itself."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass


@dataclass
class Member:
    name: bytes
    data: bytes = b""
    flags: int = 0
    method: int = 8
    crc: int | None = None
    """Instead of the true one."""
    size: int | None = None
    """Instead of the true one."""
    mode: int = 0o100644
    date: int = 0x5821
    extra: bytes = b""
    cut: int = 0
    """How many bytes of what is packed are missing, though it says that they are there."""


def pack(members: list[Member]) -> bytes:
    """A zip of ``members``, in their order."""
    body, directory = bytearray(), bytearray()
    for one in members:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(one.data) + packer.flush() if one.method == 8 else one.data
        crc = zlib.crc32(one.data) if one.crc is None else one.crc
        size = len(one.data) if one.size is None else one.size
        sizes = (crc, len(packed), size)
        offset = len(body)
        fields = (one.flags, one.method, 0, one.date, *sizes, len(one.name))
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 20, *fields, 0)
        body += one.name + packed[: len(packed) - one.cut]
        directory += struct.pack(
            "<4s4B4H3L5H2L",
            *(b"PK\1\2", 20, 3, 20, 0, *fields, len(one.extra), 0, 0, 0),
            *(one.mode << 16, offset),
        )
        directory += one.name + one.extra
    count = min(len(members), 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)
