"""The student's own modules that the main file may import."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath

import msgspec

from .finding import MAX_BYTES, defines_any, find_main, is_test, read_code, suffix_of
from .model import Assignment, NotGradable
from .source import Code, SourceFile, few, imported_modules
from .tree import ImportableFolder, SingleFile, Tree, shown

MAX_HELPERS = 20
MAX_IMPORTS = 500
MAX_NAME_BYTES = 255
"""Of a file or folder; a zip can hold longer ones than a disk."""

_RESERVED = frozenset({"torch", "numpy", "pytest", "grader", "einops"})


class Helpers(msgspec.Struct, frozen=True, kw_only=True):
    """The student's other modules, and why some were not taken."""

    files: list[SourceFile]
    notes: list[str]
    uses: list[str]
    """Ids of the earlier assignments whose files are among ``files``."""
    unchained: list[str]
    """Modules that are imported, and are earlier assignments, which are graded by themselves."""
    left: list[str]
    """Modules that are imported, and lie beside the file, which is graded alone."""


def find_helpers(
    tree: Tree,
    name: str,
    main: SourceFile,
    written: dict[str, Code],
    assignment: Assignment,
    *,
    earlier: Iterable[Assignment] = (),
    later: Iterable[Assignment] = (),
    chain: bool = False,
) -> Helpers:
    """Modules beside ``main``, which is ``name`` of ``tree``; and notes on those not taken.

    Of a single file's folder only what is imported, and nothing of one that may be a whole class's;
    of a folder or zip that was handed in, what is imported and then the rest. ``written`` are files
    that the main notebook writes; they come before files of the same name. The student's files for
    ``earlier`` assignments are no helpers; with ``chain`` those that are imported are taken from
    wherever in ``tree`` they would be found to be graded. Those for ``later`` ones are helpers
    where imported.
    """
    search = _Search(tree, name, main, written, assignment, earlier, later, chain)
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
    return Helpers(
        files=list(search.helpers.values()),
        notes=search.notes(),
        uses=search.uses,
        unchained=search.unchained,
        left=search.left,
    )


class _Search:
    def __init__(
        self,
        tree: Tree,
        name: str,
        main: SourceFile,
        written: dict[str, Code],
        assignment: Assignment,
        earlier: Iterable[Assignment],
        later: Iterable[Assignment],
        chain: bool,
    ) -> None:
        self.tree = tree
        self.name = name
        self.earlier = {other.file.removesuffix(".py"): other for other in earlier}
        self.later = {other.file.removesuffix(".py"): other for other in later}
        self.chain = chain
        self.uses: list[str] = []
        self.unchained: list[str] = []
        self.left: list[str] = []
        self.base = PurePosixPath(name).parent
        self.main = main
        self.written = {PurePosixPath(path): code for path, code in written.items()}
        self.assignment = assignment
        self.helpers: dict[str, SourceFile] = {}
        """By module name without case, as some file systems have it."""
        self.refused: list[str] = []
        self.too_many = 0
        self.by_top: dict[str, dict[PurePosixPath, None]] = {}
        self.elsewhere: dict[str, dict[PurePosixPath, PurePosixPath]] = {}
        """Modules beside files of earlier assignments, each with the folder it is in."""
        files = [self.base / path for path in self.written]
        files += [PurePosixPath(file) for file in tree.files if file != name]
        for path in _importable(files, self.base):
            self.by_top.setdefault(path.parts[0].removesuffix(".py"), {})[path] = None

    def unasked(self, asked: set[str]) -> list[str]:
        return sorted(top for top in self.by_top if top not in asked)

    def take(self, top: str, *, imported: bool) -> list[str]:
        """Take the modules whose dotted name starts with this; returns their texts."""
        other = self.earlier.get(top)
        if other is not None and imported and self.chain and (found := self._take_earlier(other)):
            return found
        texts: list[str] = []
        paths = list(self.by_top.get(top, ()))
        if not paths and imported:
            for path, base in self.elsewhere.get(top, {}).items():
                texts += self._take_file(path, top, imported, base)
        single = type(self.tree) is ImportableFolder
        if not paths and single and self.tree.holds(str(self.base / f"{top}.py")):
            paths = [PurePosixPath(f"{top}.py")]
        if imported and not paths and not texts:
            self._leave(top, other)
        for path in paths:
            texts += self._take_file(path, top, imported, self.base)
        return texts

    def _leave(self, top: str, earlier: Assignment | None) -> None:
        """Remember why a module that is imported is not there."""
        if earlier is not None and not self.chain:
            self.unchained.append(top)
            return
        path = PurePosixPath(f"{top}.py")
        lies_there = isinstance(self.tree, SingleFile) and self.tree.leaves(str(self.base / path))
        if lies_there and self._reason_against(path, top, top) is None:
            self.left.append(top)

    def _take_earlier(self, other: Assignment) -> list[str]:
        """Take the file that would be graded for an earlier assignment; its text, if it is there.

        Modules beside it can be imported as those beside the main file, which come before them.
        """
        module = other.file.removesuffix(".py")
        try:
            name, _ = find_main(self.tree, other)
            if name == self.name:
                return []
            data = self.tree.read(name, limit=MAX_BYTES[suffix_of(name)])
            code = read_code(name, data, other)
        except NotGradable as problem:
            if problem.candidates:
                self.refused.append(f"{module!r} ({str(problem).rstrip('.')})")
            return []
        self.helpers[module.casefold()] = SourceFile.of(code, data, name=shown(name), module=module)
        self.uses.append(other.id)
        base = PurePosixPath(name).parent
        if base != self.base:
            for path in _importable(map(PurePosixPath, self.tree.files), base):
                top = path.parts[0].removesuffix(".py")
                if top not in self.by_top:
                    self.elsewhere.setdefault(top, {})[path] = base
        return [code.text]

    def _take_file(
        self, path: PurePosixPath, top: str, imported: bool, base: PurePosixPath
    ) -> list[str]:
        module = ".".join(path.with_suffix("").parts)
        name = str(base / path)
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
            if base == self.base and path in self.written:
                code = self.written[path]
                data = code.text.encode()
            else:
                data = self.tree.read(name, limit=MAX_BYTES[".py"])
                code = read_code(name, data, self.assignment)
        except NotGradable as problem:
            self.refused.append(f"{label} ({str(problem).rstrip('.')})")
            return []
        other = self.earlier.get(module)
        if other is not None and defines_any(code.text, other):
            if imported:
                self.unchained.append(module)
            return []
        other = self.later.get(module)
        if other is not None and not imported and defines_any(code.text, other):
            return []
        self.helpers[module.casefold()] = SourceFile.of(code, data, name=shown(name), module=module)
        return [code.text]

    def _reason_against(self, path: PurePosixPath, top: str, module: str) -> str | None:
        if is_test(path.name):
            return "a file of tests or of Python's own start"
        if top.casefold() == self.main.module.casefold() or module.casefold() in self.helpers:
            return "another file has its name"
        if any(len(part.encode()) > MAX_NAME_BYTES for part in path.parts):
            return "its name is too long"
        if _is_taken(top):
            return "it would hide a library"
        return None

    def notes(self) -> list[str]:
        notes = [f"Not used: {few(self.refused)}."] if self.refused else []
        notes += [unchained_words(module) for module in self.unchained]
        notes += [left_words(module) for module in self.left]
        if self.too_many:
            notes.append(
                f"Only {MAX_HELPERS} files beside the main one were used; {self.too_many} were not."
            )
        return notes


def unchained_words(module: str) -> str:
    """The message for an import of an earlier assignment's file, where each is graded alone."""
    return (
        f"{module} is an earlier assignment, and each is graded alone. Add --chain to import "
        f"your own {module}.py."
    )


def left_words(module: str) -> str:
    """The message for an import of a file that lies beside one that is graded alone."""
    return (
        f"{module}.py lies beside your file but was not used, since it may be somebody "
        "else's. If the folder is yours, add --with FOLDER."
    )


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
