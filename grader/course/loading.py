"""Finds courses, reads their TOML files, and checks them."""

from __future__ import annotations

import hashlib
import keyword
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from .late import read_late
from .model import Assignment, Course, CourseError, Export, Limits, OwnTests, Signature
from .toml_file import TomlFile, nearest

ASSIGNMENTS, SOLUTIONS, HIDDEN = "assignments", "solutions", "tests/hidden"
"""The folders of a course; the last two are private."""
COURSE_FILE = "course.toml"
ASSIGNMENT_FILE = "assignment.toml"
PUBLIC_SUITE = "test_public.py"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class _CourseFile(msgspec.Struct):
    title: str
    order: list[str] = []
    limits: dict[str, Any] = {}
    late: dict[str, Any] = {}


class _AssignmentFile(msgspec.Struct):
    title: str
    exports: dict[str, Any]
    file: str | None = None
    forbidden: list[str] = []
    limits: dict[str, Any] = {}
    tests: dict[str, Any] = {}


def find_course(start: Path) -> Path:
    """The nearest folder at or above ``start`` (a file or a folder) that holds a course.

    Raises ``CourseError`` where there is none.
    """
    # abspath and not resolve(): a link may lead out of the course that it lies in.
    place = Path(os.path.abspath(start))
    for folder in (place, *place.parents):
        if (folder / ASSIGNMENTS / COURSE_FILE).is_file():
            return folder
    raise CourseError(
        f"{place}: neither this nor a folder above it holds {ASSIGNMENTS}/{COURSE_FILE}; "
        "go to the course's folder, or name it with --course"
    )


def load_course(root: Path) -> Course:
    """The course in ``root``, which is the course's folder or its ``assignments/``.

    Raises ``CourseError``, naming file and line, where anything in it is not as it should be.
    """
    root = Path(os.path.abspath(root))
    if root.name == ASSIGNMENTS and (root / COURSE_FILE).is_file():
        root = root.parent
    folder = root / ASSIGNMENTS
    file = TomlFile(folder / COURSE_FILE)
    described = file.struct([], file.data, _CourseFile)
    limits = _limits(file, {}, described.limits)
    try:
        present = sorted(path.parent.name for path in folder.glob(f"*/{ASSIGNMENT_FILE}"))
    except OSError as error:
        raise CourseError(f"{folder}: cannot be read ({error.strerror})") from None
    for id in described.order:
        if id not in present:
            raise file.error(
                ["order"],
                f"found {id!r}, but there is no {ASSIGNMENTS}/{id}/{ASSIGNMENT_FILE}; "
                f"expected {nearest(id, present)}",
            )
        if described.order.count(id) > 1:
            raise file.error(["order"], f"found {id!r} twice; expected each assignment once")
    if not present:
        raise CourseError(
            f"{folder}: holds no assignment; expected at least one <id>/{ASSIGNMENT_FILE}"
        )
    ids = [*described.order, *(id for id in present if id not in described.order)]
    return Course(
        root=root,
        title=described.title,
        assignments={id: _load_assignment(root, id, limits) for id in ids},
        late=read_late(file, described.late, ids) if described.late else None,
    )


def course_assignment(course: Course, id: str) -> Assignment:
    """The assignment called ``id``; raises ``CourseError`` with the ids that there are."""
    if id not in course.assignments:
        raise CourseError(
            f"{course.root}: found no assignment {id!r}; expected {nearest(id, course.assignments)}"
        )
    return course.assignments[id]


def suite_digest(assignment: Assignment) -> str:
    """SHA-256, in hex, of all that decides a score: equal digests, equal checks.

    Raises ``CourseError`` where one of the files cannot be read.
    """
    digest = hashlib.sha256()
    files: dict[str, Path | None] = {
        ASSIGNMENT_FILE: assignment.directory / ASSIGNMENT_FILE,
        "public suite": assignment.public_suite,
        "hidden suite": assignment.hidden_suite,
        "reference": assignment.reference,
    }
    if assignment.hidden_suite is not None:
        # Suites share helpers, which lie beside them and are no suites themselves.
        for helper in sorted(assignment.hidden_suite.parent.glob("*.py")):
            if not helper.name.startswith("test_"):
                files[helper.name] = helper
    for name, path in files.items():
        if path is None or not path.is_file():
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CourseError(f"{path}: cannot be read ({error.strerror})") from None
        # The length keeps two files from being told apart at another place.
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _load_assignment(root: Path, id: str, course_limits: dict[str, Any]) -> Assignment:
    directory = root / ASSIGNMENTS / id
    if not is_id(id):
        raise CourseError(
            f"{directory}: found {id!r} as an assignment's id; "
            "expected a folder name of letters, digits, _ and -"
        )
    file = TomlFile(directory / ASSIGNMENT_FILE)
    described = file.struct([], file.data, _AssignmentFile)
    name = f"{id}.py" if described.file is None else described.file
    if not (name.endswith(".py") and is_name(name.removesuffix(".py"))):
        raise file.error(
            ["file"],
            f"found {name!r} as the file to hand in; expected file = a plain name that Python can "
            "import, such as 'attention.py'",
        )
    for dotted in described.forbidden:
        parts = [dotted.removesuffix("=")] if dotted.endswith("=") else dotted.split(".")
        if not all(part.isidentifier() for part in parts):
            raise file.error(
                ["forbidden"],
                f"found {dotted!r}; expected dotted names, such as 'torch.nn.MultiheadAttention', "
                "or options, such as 'enable_gqa='",
            )
    hidden = root / HIDDEN / f"test_{id}.py"
    reference = root / SOLUTIONS / id / name
    return Assignment(
        id=id,
        title=described.title,
        file=name,
        exports=_exports(file, described.exports),
        forbidden=described.forbidden,
        limits=msgspec.convert(_limits(file, course_limits, described.limits), Limits),
        own_tests=_own_tests(file, described.tests),
        directory=directory,
        public_suite=directory / PUBLIC_SUITE,
        hidden_suite=hidden if hidden.is_file() else None,
        reference=reference if reference.is_file() else None,
    )


def _limits(file: TomlFile, base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    file.struct(["limits"], own, Limits)
    file.positive(["limits"], own)
    return base | own


def _own_tests(file: TomlFile, own: dict[str, Any]) -> OwnTests:
    own_tests = file.struct(["tests"], own, OwnTests)
    file.positive(["tests"], own)
    return own_tests


def _exports(file: TomlFile, described: dict[str, Any]) -> dict[str, Export]:
    if not described:
        raise file.error(
            ["exports"], "exports is empty; expected a table [exports.<name>] for each name"
        )
    exports = {}
    for name, value in described.items():
        place = ["exports", name]
        if not is_name(name):
            raise file.error(place, f"found {name!r} as an export; expected a name of Python")
        forward: Signature | None = None
        if isinstance(value, dict) and "forward" in value:
            forward = file.struct([*place, "forward"], value["forward"], Signature)
            _names_of(file, [*place, "forward"], forward)
        export = file.struct(place, value, Export, forward=forward)
        _names_of(file, place, export)
        exports[name] = export
    return exports


def _names_of(file: TomlFile, place: list[str], signature: Signature) -> None:
    seen: set[str] = set()
    for key, names in (("arguments", signature.arguments), ("options", signature.options)):
        for name in names:
            if not is_name(name):
                raise file.error(
                    [*place, key], f"found {name!r} in {key}; expected names of Python"
                )
            if name in seen:
                raise file.error(
                    [*place, key], f"found {name!r} twice; expected each argument and option once"
                )
            seen.add(name)
    _no_blank(file, [*place, "returns"], signature.returns)
    if isinstance(signature, Export):
        _no_blank(file, [*place, "parameters"], signature.parameters)


def _no_blank(file: TomlFile, place: list[str], names: Iterable[str]) -> None:
    if not all(names):
        raise file.error(place, f"found '' in {place[-1]}; expected names")


def is_id(text: str) -> bool:
    """Whether this may be the id of an assignment."""
    return _ID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether this may be the name of a Python module or definition."""
    return text.isidentifier() and not keyword.iskeyword(text)
