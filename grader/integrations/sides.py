"""The public and the private files of a course."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.course.loading import ASSIGNMENTS, COURSE_FILE, HIDDEN, SOLUTIONS, course_assignment
from grader.course.model import Assignment, Course
from grader.integrations.errors import ReleaseError

_CACHES = frozenset({"__pycache__", "build", "dist"})


def chosen(course: Course, ids: Sequence[str]) -> list[Assignment]:
    """The assignments called ``ids``, in the course's order; all, if there are none.

    Raises ``CourseError`` for one that the course does not have.
    """
    wanted = {course_assignment(course, id).id for id in ids} or set(course.assignments)
    return [one for one in course.assignments.values() if one.id in wanted]


def public_side(course: Course, assignments: Sequence[Assignment]) -> dict[str, bytes]:
    """The files of ``assignments/`` for these, by their paths in the course.

    Raises:
        ReleaseError: a file is missing, is a link, or is one of the private side's.
    """
    files = {f"{ASSIGNMENTS}/{COURSE_FILE}": _course_file(course, assignments)}
    for one in assignments:
        for needed in (one.stub, one.public_suite, one.directory / "README.md"):
            if not needed.is_file():
                raise ReleaseError(f"{needed}: students need this file, but it is missing")
        files |= _files(course.root, one.directory)
    secret = {_digest(data): name for name, data in _everything_private(course) if data.strip()}
    for name, data in files.items():
        if _digest(data) in secret:
            raise ReleaseError(f"{name}: is the same as {secret[_digest(data)]}, which is private")
    return files


def private_side(course: Course, assignments: Sequence[Assignment]) -> dict[str, bytes]:
    """Suites, references, faults and variants of these assignments, by their paths.

    What they share (helpers of suites, faults of a common part) goes with them.
    """
    others = set(course.assignments) - {one.id for one in assignments}
    suites = {f"test_{id}.py" for id in others}
    kept = {}
    for name, data in _everything_private(course):
        place = Path(name)
        of_other = place.parts[0] == SOLUTIONS and place.parts[1] in others
        if not of_other and place.name not in suites:
            kept[name] = data
    return kept


def _everything_private(course: Course) -> Iterator[tuple[str, bytes]]:
    for folder in (SOLUTIONS, HIDDEN):
        if (course.root / folder).is_dir():
            yield from _files(course.root, course.root / folder).items()


def _files(root: Path, folder: Path) -> dict[str, bytes]:
    """The files in ``folder`` and below; caches and names that begin with a dot are left out."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _CACHES:
            continue
        if path.is_symlink():
            raise ReleaseError(f"{path}: is a symbolic link; put the file itself there")
        if path.is_dir():
            found |= _files(root, path)
        elif path.is_file():
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def _course_file(course: Course, assignments: Sequence[Assignment]) -> bytes:
    """``course.toml``, with the assignments that are there."""
    data = (course.root / ASSIGNMENTS / COURSE_FILE).read_bytes()
    if len(assignments) == len(course.assignments):
        return data
    limits: dict[str, Any] = tomllib.loads(data.decode()).get("limits", {})
    lines = [
        f"title = {json.dumps(course.title)}",
        f"order = {json.dumps([one.id for one in assignments])}",
        *(["[limits]"] if limits else []),
        *(f"{name} = {value}" for name, value in limits.items()),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
