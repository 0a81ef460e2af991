"""The student's own modules that the main file may import."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath

from .finding import MAX_BYTES, is_test, read_code
from .model import Assignment, NotGradable
from .source import Code, SourceFile, few, imported_modules
from .tree import Beside, Tree, shown

MAX_HELPERS = 20
MAX_IMPORTS = 500

_RESERVED = frozenset({"torch", "numpy", "pytest", "grader", "einops"})


def find_helpers(
    tree: Tree, name: str, main: SourceFile, written: dict[str, Code], assignment: Assignment
) -> tuple[list[SourceFile], list[str]]:
    """Modules beside ``main``, which is ``name`` of ``tree``; and notes on those not taken.

    Of a single file's folder, which may be a whole class's, only what is imported; of a folder or
    zip that was handed in, what is imported and then the rest. ``written`` are files that the main
    notebook writes; they come before files of the same name.
    """
    search = _Search(tree, name, main, written, assignment)
    pending = deque(_top_names(main.text))
    asked: set[str] = set()
    while pending and len(asked) < MAX_IMPORTS:
        top = pending.popleft()
        if top not in asked:
            asked.add(top)
            for text in search.take(top, imported=True):
                pending.extend(_top_names(text))
    for top in search.unasked(asked):
        search.take(top, imported=False)
    return list(search.helpers.values()), search.notes()


class _Search:
    def __init__(
        self,
        tree: Tree,
        name: str,
        main: SourceFile,
        written: dict[str, Code],
        assignment: Assignment,
    ) -> None:
        self.tree = tree
        self.base = PurePosixPath(name).parent
        self.main = main
        self.written = {PurePosixPath(path): code for path, code in written.items()}
        self.assignment = assignment
        self.helpers: dict[str, SourceFile] = {}
        """By module name without case, as some file systems have it."""
        self.refused: list[str] = []
        self.too_many = 0
        self.by_top: dict[str, dict[PurePosixPath, None]] = {}
        files = [self.base / path for path in self.written]
        files += [PurePosixPath(file) for file in tree.files if file != name]
        for path in _importable(files, self.base):
            self.by_top.setdefault(path.parts[0].removesuffix(".py"), {})[path] = None

    def unasked(self, asked: set[str]) -> list[str]:
        return sorted(top for top in self.by_top if top not in asked)

    def take(self, top: str, *, imported: bool) -> list[str]:
        """Take the modules of this first name; their texts."""
        paths = list(self.by_top.get(top, ()))
        single = type(self.tree) is Beside
        if not paths and single and self.tree.holds(str(self.base / f"{top}.py")):
            paths = [PurePosixPath(f"{top}.py")]
        return [text for path in paths for text in self._take_file(path, top, imported)]

    def _take_file(self, path: PurePosixPath, top: str, imported: bool) -> list[str]:
        module = ".".join(path.with_suffix("").parts)
        name = str(self.base / path)
        label = repr(shown(name))
        reason = self._reason_against(path, top, module)
        if reason:
            if imported or not is_test(path.name):
                self.refused.append(f"{label} ({reason})")
            return []
        if len(self.helpers) == MAX_HELPERS:
            self.too_many += 1
            return []
        try:
            if path in self.written:
                code = self.written[path]
                data = code.text.encode()
            else:
                data = self.tree.read(name, limit=MAX_BYTES[".py"])
                code = read_code(name, data, self.assignment)
        except NotGradable as problem:
            self.refused.append(f"{label} ({str(problem).rstrip('.')})")
            return []
        self.helpers[module.casefold()] = SourceFile.of(code, data, name=shown(name), module=module)
        return [code.text]

    def _reason_against(self, path: PurePosixPath, top: str, module: str) -> str | None:
        if is_test(path.name):
            return "a file of tests or of Python's own start"
        if top.casefold() == self.main.module.casefold() or module.casefold() in self.helpers:
            return "another file has its name"
        if _is_taken(top):
            return "it would hide a library"
        return None

    def notes(self) -> list[str]:
        notes = [f"Not used: {few(self.refused)}."] if self.refused else []
        if self.too_many:
            notes.append(
                f"Only {MAX_HELPERS} files beside the main one were used; {self.too_many} were not."
            )
        return notes


def _importable(files: Iterable[PurePosixPath], base: PurePosixPath) -> Iterable[PurePosixPath]:
    """Modules in ``base`` and in packages there, relative to it."""
    for path in files:
        if path.suffix != ".py" or not path.is_relative_to(base):
            continue
        path = path.relative_to(base)
        if len(path.parts) <= 2 and all(part.isidentifier() for part in path.with_suffix("").parts):
            yield path


def _top_names(text: str) -> list[str]:
    tops = dict.fromkeys(name.split(".")[0] for name in imported_modules(text))
    return [top for top in tops if top.isidentifier()]


@cache
def _is_taken(top: str) -> bool:
    if top in sys.stdlib_module_names or top in _RESERVED:
        return True
    # Only where packages are installed: the search path may hold the student's own folder.
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    spec = PathFinder.find_spec(top, folders)
    return spec is not None and spec.origin is not None
