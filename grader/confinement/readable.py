"""All that a worker may read: what the standard library and installed packages consist of."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import msgspec

_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/dev/urandom",
    "/dev/zero",
)
WRITABLE = ("/dev/null",)
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_LOADED = ("torch", "numpy")
"""Packages whose parts are imported late, wherever they lie."""


class Readable(msgspec.Struct, frozen=True):
    """Paths at and below which files may be read, and folders of which the names may be."""

    files: list[str]
    names: list[str]

    @property
    def installed(self) -> list[str]:
        """Those of the interpreter and its packages, which may be anywhere and anybody's."""
        packages = [path for name in _LOADED for path in _folders(name)]
        return [path for path in self.files if path not in _SYSTEM] + packages

    def covers(self, path: Path) -> bool:
        """Whether ``path`` lies at or below something that may be read."""
        real = os.path.realpath(path)
        return any(_within(real, os.path.realpath(one)) for one in (*self.files, *self.names))


def code_paths() -> Readable:
    """The files that imports need: those of this interpreter, its packages, shared libraries.

    Landlock cannot take back what it has given: where the grader's own package lies inside such a
    folder, the folder's entries are given one by one without it. Folders that a ``.pth`` file adds
    to ``sys.path`` are somebody's work in progress, perhaps a course, and are left out.
    """
    library = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    roots = [*library, *_SYSTEM]
    for entry in sys.path:
        name = os.path.basename(entry)
        archive = name.endswith(".zip") and os.path.dirname(entry) in map(os.path.dirname, library)
        if name in (*_PACKAGE_FOLDERS, "lib-dynload") or archive:
            roots.append(entry)
    for package in _LOADED:
        roots += _folders(package)
    # Conda keeps libraries that are loaded late, MKL's for instance, beside its interpreter's.
    for prefix in {sys.base_prefix, sys.prefix} - {"/usr"}:
        roots += glob.glob(f"{glob.escape(prefix)}/lib/*.so*")
    own = os.path.realpath(Path(__file__).parents[1])
    files: dict[str, None] = {}
    names: dict[str, None] = {}
    for root in roots:
        if os.path.exists(root) and not any(_within(root, given) for given in files):
            for path, whole in _without(root, own):
                (files if whole else names)[path] = None
    return Readable(files=list(files), names=list(names))


def _folders(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    return list((spec and spec.submodule_search_locations) or [])


def _without(path: str, own: str) -> Iterator[tuple[str, bool]]:
    """``path`` as a whole, or its entries if ``own`` lies below it: which is left out."""
    real = os.path.realpath(path)
    if _within(real, own):
        return
    if not _within(own, real):
        yield path, True
        return
    yield path, False
    for entry in sorted(os.listdir(path)):
        yield from _without(os.path.join(path, entry), own)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
