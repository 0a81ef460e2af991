"""Packs the grader itself as a wheel, to include in releases.

It is made of the package that runs, so a release grades as the instructor's machine does, and
needs no index that the grader would have to be published on.
"""

from __future__ import annotations

import base64
import hashlib
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import grader
from grader.course.archive import zipped
from grader.integrations.pins import PROJECT

_LEFT_OUT = frozenset({"__pycache__"})


def wheel() -> tuple[str, bytes]:
    """The wheel's file name and content; equal packages make equal bytes."""
    distribution = metadata.distribution(PROJECT)
    stem = f"{PROJECT.replace('-', '_')}-{distribution.version}"
    root = Path(grader.__file__).parent
    files = {
        f"grader/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _LEFT_OUT.intersection(path.parts)
    }
    info = f"{stem}.dist-info"
    files[f"{info}/METADATA"] = _metadata(distribution).encode()
    files[f"{info}/entry_points.txt"] = (distribution.read_text("entry_points.txt") or "").encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: grade release\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    return f"{stem}-py3-none-any.whl", zipped(files)


def _metadata(distribution: metadata.Distribution) -> str:
    """Name, version and what it needs; without the description, which is for its developers."""
    read = Parser().parsestr(distribution.read_text("METADATA") or "", headersonly=True)
    kept = Message()
    for name in ("Metadata-Version", "Name", "Version", "Summary", "Requires-Python"):
        kept[name] = read[name]
    for requirement in read.get_all("Requires-Dist", []):
        if "extra ==" not in requirement:
            kept["Requires-Dist"] = requirement
    return kept.as_string()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
