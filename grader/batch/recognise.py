"""Recognises a folder's layout, and so who handed in what."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Set
from functools import cache
from pathlib import Path
from typing import cast

import msgspec

from grader.batch import layouts
from grader.batch.class_folder import ClassFolder, HandIn, Layout, Reading, holds_code
from grader.batch.errors import BatchError
from grader.batch.layouts.files import of_file
from grader.report.words import count

MAX_PATTERN_DEPTH = 6
COMPOSED = 65
"""From this ``ORDER`` on layouts are no platform's own."""
GUESSES = 80
"""From this ``ORDER`` on layouts have no sign to go by: what bears another's is not theirs."""


class Found(msgspec.Struct, kw_only=True):
    """What one folder holds."""

    layout: str
    hand_ins: list[HandIn]
    left_out: list[str] = []
    """Names in it that hold what may be code, and that the layout does not account for."""


class _Candidate(msgspec.Struct, kw_only=True):
    """A layout, and what it makes of a folder."""

    name: str
    layout: Layout
    reading: Reading
    signs: frozenset[Path]

    @property
    def is_guess(self) -> bool:
        return self.layout.ORDER >= GUESSES

    @property
    def meaning(self) -> set[tuple[object, ...]]:
        """What grading depends on; equal for readings that mean the same."""
        return {
            (one.student, one.id, one.assignment, *one.sources) for one in self.reading.hand_ins
        }


@cache
def all_layouts() -> dict[str, Layout]:
    """Every layout by its name, in their order."""
    names = [module.name for module in pkgutil.iter_modules(layouts.__path__)]
    modules = {
        name.replace("_", "-"): cast(Layout, importlib.import_module(f"{layouts.__name__}.{name}"))
        for name in names
    }
    return dict(sorted(modules.items(), key=lambda item: item[1].ORDER))


def read_path(
    path: Path, class_folder: ClassFolder, *, pattern: str | None, layout: str | None
) -> Found:
    """Who handed in what below ``path``: a folder, a platform's zip, or a single file.

    ``class_folder`` is any folder of this batch. Raises BatchError, saying what was seen.
    """
    hint = ""
    if path.is_dir():
        class_folder = class_folder.below(path)
    elif path.suffix.lower() == ".zip":
        class_folder, hint = class_folder.unpacked(path), class_folder.assignment_in(path.stem)
    elif path.is_file():
        one = of_file(path, class_folder.ids)
        if one.student in class_folder.ids:
            one = HandIn(student=path.parent.name, files=one.files)
        return Found(layout="a file", hand_ins=[one])
    else:
        raise BatchError(f"{path}: there is no such file or folder")
    if pattern:
        found = read_pattern(class_folder, pattern)
    elif layout:
        found = read_as(class_folder, layout)
    else:
        found = read_folder(class_folder)
    return with_hint(found, hint)


def with_hint(found: Found, assignment: str) -> Found:
    """``found`` with the assignment that its surroundings name, where it names none itself."""
    if assignment:
        found.hand_ins = [
            one if one.assignment else msgspec.structs.replace(one, assignment=assignment)
            for one in found.hand_ins
        ]
    return found


def read_folder(class_folder: ClassFolder) -> Found:
    """Who handed in what, by the layout that most entries bear the signs of.

    Raises BatchError if none does, or if as many bear those of another, which means another class.
    """
    candidates = _candidates(class_folder)
    if _wraps(class_folder) and all(one.is_guess for one in candidates):
        # Zips and exports wrap what matters in a folder of their own.
        return read_folder(class_folder.below(class_folder.folders[0]))
    best = _best(candidates, class_folder)
    if not best or len(_accounted(class_folder, best[0])) * 2 < len(class_folder.entries):
        raise BatchError(
            f"{class_folder.path}: {_seen(class_folder)}, which no known layout fits "
            f"({'; '.join(layout.TITLE for layout in all_layouts().values())}). Say which it is "
            "with --layout NAME (--layout list names them), or where the student's name is: "
            "--pattern '{student}/{assignment}.py', or a regular expression with (?P<student>...)"
        )
    other = next((one for one in best if one.meaning != best[0].meaning), None)
    if other is not None:
        both = (best[0], other)
        raise BatchError(
            f"{class_folder.path}: {_seen(class_folder)}, which may be "
            f"{' or '.join(one.layout.TITLE for one in both)}, and nothing says which. Say so: "
            f"{' or '.join(f'--layout {one.name}' for one in both)}"
        )
    return _found(class_folder, best[0])


def read_as(class_folder: ClassFolder, name: str) -> Found:
    """Who handed in what, by the layout of this name; raises BatchError if it finds nothing."""
    layout, inner = all_layouts()[name], class_folder
    while True:
        reading = layout.find(inner)
        if reading.hand_ins:
            return _found(inner, _candidate(inner, name, layout, reading))
        if not _wraps(inner):
            raise BatchError(
                f"{class_folder.path}: {_seen(inner)}, and none of it is that of {layout.TITLE} "
                f"(--layout {name})"
            )
        inner = inner.below(inner.folders[0])


def _of_platform(hand_in: HandIn, layout: Layout) -> HandIn:
    """``hand_in``, saying whose id it has; layouts made of others leave that as it is."""
    if hand_in.platform or not (hand_in.id or hand_in.login or hand_in.email):
        return hand_in
    name = layout.__name__.rpartition(".")[2]
    return msgspec.structs.replace(hand_in, platform=name)


def is_of_platform(class_folder: ClassFolder) -> bool:
    """Whether most of the folder bears the signs of a platform's own layout."""
    best = _best(_candidates(class_folder, of_platforms=True), class_folder)
    return bool(best) and len(best[0].signs) * 2 > len(class_folder.entries)


def _wraps(class_folder: ClassFolder) -> bool:
    return len(class_folder.folders) == 1 and not class_folder.files


def _candidates(class_folder: ClassFolder, *, of_platforms: bool = False) -> list[_Candidate]:
    found = [
        _candidate(class_folder, name, layout, layout.find(class_folder))
        for name, layout in all_layouts().items()
        if not of_platforms or layout.ORDER < COMPOSED
    ]
    return [one for one in found if one.reading.hand_ins and one.signs]


def _candidate(
    class_folder: ClassFolder, name: str, layout: Layout, reading: Reading
) -> _Candidate:
    signs = reading.signs
    if signs is None:
        signs = frozenset(_holders(class_folder, reading.hand_ins))
    return _Candidate(name=name, layout=layout, reading=reading, signs=signs)


def _best(candidates: list[_Candidate], class_folder: ClassFolder) -> list[_Candidate]:
    """Those with the most entries that bear their signs, or for guesses no other's.

    Of nothing but guesses those that account for most.
    """
    signed = frozenset[Path]().union(*(one.signs for one in candidates if not one.is_guess))
    best = _most(candidates, lambda one: len(one.signs - signed if one.is_guess else one.signs))
    if all(one.is_guess for one in best):
        best = _most(best, lambda one: len(_accounted(class_folder, one)))
    return best


def _most(candidates: list[_Candidate], weight: Callable[[_Candidate], int]) -> list[_Candidate]:
    weights = [weight(one) for one in candidates]
    return [
        one for one, each in zip(candidates, weights, strict=True) if each == max(weights) and each
    ]


def _holders(class_folder: ClassFolder, hand_ins: list[HandIn]) -> set[Path]:
    """The entries of the folder that hand-ins are, or lie in."""
    sources = {source for one in hand_ins for source in one.sources}
    sources |= {parent for source in sources for parent in source.parents}
    return sources.intersection(class_folder.entries)


def _accounted(class_folder: ClassFolder, one: _Candidate) -> Set[Path]:
    if any(hand_in.folder == class_folder.path for hand_in in one.reading.hand_ins):
        return set(class_folder.entries)
    return one.signs | _holders(class_folder, one.reading.hand_ins)


def _found(class_folder: ClassFolder, one: _Candidate) -> Found:
    left_out = [*_left_out(class_folder, one), *one.reading.left_out]
    return Found(
        layout=one.layout.TITLE,
        hand_ins=[_of_platform(each, one.layout) for each in one.reading.hand_ins],
        left_out=list(dict.fromkeys(left_out)),
    )


def read_pattern(class_folder: ClassFolder, pattern: str) -> Found:
    """Who handed in what, by a template or a regular expression of paths below the folder.

    A folder that fits is handed in as it is; files that fit are put together by student. Raises
    BatchError for a pattern that is none or that nothing fits.
    """
    expression = _expression(pattern)
    folders: list[HandIn] = []
    files: dict[tuple[str, str], dict[str, Path]] = {}
    seen: list[str] = []
    for path, is_folder in _walk(class_folder):
        name = path.relative_to(class_folder.path).as_posix()
        match = expression.fullmatch(name)
        if match is None:
            if not is_folder:
                seen.append(name)
            continue
        who = (match["student"], match.groupdict().get("assignment") or "")
        if is_folder:
            folders.append(HandIn(student=who[0], assignment=who[1], folder=path))
        else:
            files.setdefault(who, {})[name] = path
    inside = [one.folder for one in folders]
    hand_ins = folders + [
        HandIn(student=student, assignment=assignment, files=_short_names(named))
        for (student, assignment), named in files.items()
        if not any(folder in path.parents for folder in inside for path in named.values())
    ]
    if not hand_ins:
        example = f"; there is {seen[0]!r}, for example" if seen else ""
        raise BatchError(f"{class_folder.path}: nothing in it fits --pattern {pattern!r}{example}")
    left_out = [
        name
        for name in seen
        if not any(folder in (class_folder.path / name).parents for folder in inside if folder)
    ]
    return Found(layout=f"--pattern {pattern}", hand_ins=hand_ins, left_out=left_out)


def _expression(pattern: str) -> re.Pattern[str]:
    try:
        if "(?P<student>" in pattern:
            return re.compile(pattern)
        if "{student}" in pattern:
            parts = re.split(r"(\{student\}|\{assignment\}|\*)", pattern.rstrip("/"))
            known = {
                "{student}": "(?P<student>[^/]+?)",
                "{assignment}": "(?P<assignment>[^/]+?)",
                "*": "[^/]*",
            }
            return re.compile("".join(known.get(part) or re.escape(part) for part in parts))
    except re.error as error:
        raise BatchError(f"--pattern {pattern!r} is no regular expression: {error}") from None
    raise BatchError(
        f"--pattern {pattern!r} does not say where the student's name is: it needs {{student}}, "
        "or (?P<student>...) in a regular expression"
    )


def _walk(class_folder: ClassFolder) -> Iterator[tuple[Path, bool]]:
    waiting = deque([(class_folder, 0)])
    while waiting:
        current, depth = waiting.popleft()
        yield from ((path, False) for path in current.files)
        for folder in current.folders:
            yield folder, True
            if depth < MAX_PATTERN_DEPTH:
                waiting.append((current.below(folder), depth + 1))


def _short_names(named: dict[str, Path]) -> dict[str, Path]:
    """By the files' own names, unless two have the same."""
    short = {path.name: path for path in named.values()}
    return short if len(short) == len(named) else named


def _left_out(class_folder: ClassFolder, one: _Candidate) -> list[str]:
    """What holds code and is nobody's, also beside hand-ins that lie deeper."""
    sources = {source for hand_in in one.reading.hand_ins for source in hand_in.sources}
    around = {parent for source in sources for parent in source.parents}
    left = []
    waiting = [] if class_folder.path in sources else class_folder.entries
    while waiting:
        path = waiting.pop(0)
        if path in sources:
            continue
        if path in around:
            waiting += class_folder.below(path).entries
        elif path not in one.signs and holds_code(path):
            left.append(path.relative_to(class_folder.path).as_posix())
    return left


def _seen(class_folder: ClassFolder) -> str:
    kinds = Counter(path.suffix.lower() for path in class_folder.files)
    parts = [count(number, f"{kind} file") for kind, number in sorted(kinds.items())]
    if class_folder.folders:
        parts.insert(0, count(len(class_folder.folders), "folder"))
    if not parts:
        return "holds no folder and no .py, .ipynb or .zip file"
    names = [path.name for path in (*class_folder.folders, *class_folder.files)][:3]
    return f"holds {' and '.join(parts)} ({', '.join(names)}, ...)"
