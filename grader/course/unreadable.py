"""Whether anything in a submission can be read."""

from __future__ import annotations

from pathlib import Path

from .finding import MAX_BYTES, READ_BYTES, suffix_of
from .model import NotGradable
from .tree import MAX_ZIP_BYTES, Archive, Folder, ImportableFolder, Tree, read_regular


def is_unreadable(path: Path) -> bool:
    """Whether what lies at ``path`` may be code, or hold some, and none of it can be read."""
    try:
        if path.is_dir():
            tree: Tree = Folder(path)
            names = tree.files
        elif path.suffix.lower() == ".zip":
            tree = Archive(path.name, read_regular(path, limit=MAX_ZIP_BYTES))
            names = [name for name in tree.files if suffix_of(name) in MAX_BYTES]
        else:
            tree, names = ImportableFolder(path.parent), [path.name]
    except (NotGradable, OSError):
        return True
    return bool(names) and not any(_can_be_read(tree, name) for name in names)


def _can_be_read(tree: Tree, name: str) -> bool:
    try:
        data = tree.read(name, limit=READ_BYTES.get(suffix_of(name), 0))
        if suffix_of(name) == ".zip":
            Archive(name, data)
    except NotGradable:
        return False
    return True
