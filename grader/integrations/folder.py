"""Writes releases to a folder, and overwrites only their own files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grader.integrations.errors import ReleaseError
from grader.report.files import ReportError, write_atomically

MANIFEST = ".github/classroom/release.json"
"""What the last release wrote; with it in the repository, the next can tell its files."""


_OF_A_NEW_REPOSITORY = {".git", ".gitattributes", ".gitignore", "LICENSE", "README.md"}


class _Manifest(msgspec.Struct):
    """The files of a release, by their paths, with their SHA-256."""

    files: dict[str, str]


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` to ``folder``, and remove the other files of an earlier release.

    Other files stay, unless they are in the way. The first release needs a folder without any, but
    for what a new repository has: what lies there may be nothing to hand out.

    Raises:
        ReleaseError: a file is in the way that no release wrote, or that was changed since; then
            nothing is written.
    """
    before = _manifest(folder)
    if not before:
        _refuse_others(folder, files)
    stale = [name for name in before if name not in files]
    for name in [*files, MANIFEST, *stale]:
        _check(folder, name)
    for name in [*files, *stale]:
        path = folder / name
        if path.exists() and _digest(path.read_bytes()) not in (
            before.get(name),
            _digest(files[name]) if name in files else None,
        ):
            why = (
                "was changed since it was released"
                if name in before
                else "is not part of a release"
            )
            raise ReleaseError(f"{path}: {why}; move it away, or release to another folder")
    manifest = _Manifest(files={name: _digest(data) for name, data in files.items()})
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    try:
        # The manifest comes first: whatever ends this, the next release knows these files.
        for name, data in {MANIFEST: encoded, **files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
            path.chmod(0o755 if data.startswith(b"#!") else 0o644)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
    except (OSError, ReportError) as error:
        raise ReleaseError(f"{folder}: cannot be written to ({error})") from None


def _refuse_others(folder: Path, files: Mapping[str, bytes]) -> None:
    ours = {Path(name).parts[0] for name in files} | _OF_A_NEW_REPOSITORY
    others = sorted({path.name for path in folder.iterdir()} - ours) if folder.is_dir() else []
    if others:
        raise ReleaseError(
            f"{folder}: holds {others[0]!r}, which is not part of a release but would be handed "
            "out with it; release to an empty folder or a new repository"
        )


def _check(folder: Path, name: str) -> None:
    """Refuse a name that leads out of the folder, as a link or a manifest of others' could."""
    path = folder
    for part in Path(name).parts:
        if part in ("..", "/"):
            raise ReleaseError(f"{folder / MANIFEST}: names {name!r}, which is outside the folder")
        path = path / part
        if path.is_symlink():
            raise ReleaseError(f"{path}: is a symbolic link; move it away")
    if path.is_dir():
        raise ReleaseError(f"{path}: is a folder, but a release has a file there; move it away")
    for parent in [path, *path.parents][1:]:
        if parent.exists() and not parent.is_dir():
            raise ReleaseError(f"{parent}: is no folder")


def _manifest(folder: Path) -> dict[str, str]:
    path = folder / MANIFEST
    _check(folder, MANIFEST)
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Manifest).files
    except (msgspec.DecodeError, OSError) as error:
        raise ReleaseError(f"{path}: cannot be read ({error}); move it away") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
