"""Which layout a folder has, and so who handed in what."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter, deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import msgspec

from grader.batch import layouts
from grader.batch.errors import BatchError
from grader.batch.layouts.flat import of_file
from grader.batch.place import HandIn, Layout, Place
from grader.report.words import count

MAX_PATTERN_DEPTH = 6
COMPOSED = 65
"""From this ``ORDER`` on layouts are made of others."""
GUESSES = 80
"""From this ``ORDER`` on layouts have no sign of a platform to go by."""


class Found(msgspec.Struct, kw_only=True):
    """What one place holds."""

    layout: str
    hand_ins: list[HandIn]
    left_out: list[str] = []
    """Names in it that may be code and that the layout does not account for."""


@cache
def all_layouts() -> list[Layout]:
    """Every layout, the surest first."""
    names = [module.name for module in pkgutil.iter_modules(layouts.__path__)]
    modules = [importlib.import_module(f"{layouts.__name__}.{name}") for name in names]
    return sorted((cast(Layout, module) for module in modules), key=lambda one: one.ORDER)


def read_path(path: Path, place: Place, pattern: str | None) -> Found:
    """Who handed in what below ``path``: a folder, a platform's zip, or a single file.

    ``place`` is any place of this batch. Raises BatchError, saying what was seen.
    """
    hint = ""
    if path.is_dir():
        place = place.below(path)
    elif path.suffix.lower() == ".zip":
        place, hint = place.unpacked(path), place.assignment_in(path.stem)
    elif path.is_file():
        one = of_file(path, place.ids, {path.stem})
        if one.student in place.ids:
            one = HandIn(student=path.parent.name, files=one.files)
        return Found(layout="a file", hand_ins=[one])
    else:
        raise BatchError(f"{path}: there is no such file or folder")
    found = read_pattern(place, pattern) if pattern else read_place(place)
    return with_hint(found, hint)


def with_hint(found: Found, assignment: str) -> Found:
    """``found`` for an assignment that something around it names, where it names none itself."""
    if assignment:
        found.hand_ins = [
            one if one.assignment else msgspec.structs.replace(one, assignment=assignment)
            for one in found.hand_ins
        ]
    return found


def read_place(place: Place) -> Found:
    """Who handed in what, by the first layout that fits; raises BatchError if none does."""
    wraps = len(place.folders) == 1 and not place.files
    for layout in all_layouts():
        if wraps and layout.ORDER >= GUESSES:
            # Zips and exports wrap what matters in a folder of their own.
            return read_place(place.below(place.folders[0]))
        if hand_ins := [_of_platform(one, layout) for one in layout.find(place)]:
            return Found(
                layout=layout.TITLE, hand_ins=hand_ins, left_out=_left_out(place, hand_ins)
            )
    raise BatchError(
        f"{place.path}: {_seen(place)}, which is laid out like nothing that is known "
        f"({'; '.join(layout.TITLE for layout in all_layouts())}). Say where the student's name "
        "is: --pattern '{student}/{assignment}.py', or a regular expression with (?P<student>...)"
    )


def _of_platform(hand_in: HandIn, layout: Layout) -> HandIn:
    """``hand_in``, saying whose id it has; layouts made of others leave that as it is."""
    if hand_in.platform or not (hand_in.id or hand_in.login or hand_in.email):
        return hand_in
    name = layout.__name__.rpartition(".")[2]
    return msgspec.structs.replace(hand_in, platform=name)


def is_of_platform(place: Place) -> bool:
    """Whether the place bears the signs of a platform's own layout."""
    return any(layout.find(place) for layout in all_layouts() if layout.ORDER < COMPOSED)


def read_pattern(place: Place, pattern: str) -> Found:
    """Who handed in what, by a template or a regular expression of paths below the place.

    A folder that fits is handed in as it is; files that fit are put together by student. Raises
    BatchError for a pattern that is none or that nothing fits.
    """
    expression = _expression(pattern)
    folders: list[HandIn] = []
    files: dict[tuple[str, str], dict[str, Path]] = {}
    seen: list[str] = []
    for path, is_folder in _walk(place):
        name = path.relative_to(place.path).as_posix()
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
        raise BatchError(f"{place.path}: nothing in it fits --pattern {pattern!r}{example}")
    left_out = [
        name
        for name in seen
        if not any(folder in (place.path / name).parents for folder in inside if folder)
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


def _walk(place: Place) -> Iterator[tuple[Path, bool]]:
    waiting = deque([(place, 0)])
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


def _left_out(place: Place, hand_ins: list[HandIn]) -> list[str]:
    used = {source for one in hand_ins for source in one.sources}
    used |= {parent for source in used for parent in source.parents}
    if place.path in {one.folder for one in hand_ins}:
        return []
    return [path.name for path in (*place.folders, *place.files) if path not in used]


def _seen(place: Place) -> str:
    kinds = Counter(path.suffix.lower() for path in place.files)
    parts = [count(number, f"{kind} file") for kind, number in sorted(kinds.items())]
    if place.folders:
        parts.insert(0, count(len(place.folders), "folder"))
    if not parts:
        return "holds no folder and no .py, .ipynb or .zip file"
    names = [path.name for path in (*place.folders, *place.files)][:3]
    return f"holds {' and '.join(parts)} ({', '.join(names)}, ...)"
