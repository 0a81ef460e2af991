"""Courses and assignments, as their TOML files describe them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec


class CourseError(Exception):
    """A course or an assignment is invalid; the text names file, line and remedy."""


class NotGradable(Exception):
    """A submission cannot be graded; the text tells the student what to do about it.

    ``candidates`` names the files among which no choice could be made, where that is why.
    """

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidates = list(candidates)


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the student's code may use; ``assignment.toml`` may set each under ``[limits]``."""

    import_seconds: float = 10.0
    check_seconds: float = 10.0
    submission_seconds: float = 120.0
    output_bytes: int = 64 * 1024
    """Kept of what is printed during one check; more is dropped."""
    memory_bytes: int = 1 << 30
    """Beyond what the process holds once torch is imported."""


class OwnTests(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The points for students' own tests; ``[tests]`` in ``assignment.toml``."""

    points: int | None = None
    """For tests that catch every fault; None: they are not scored."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments, options and results of one callable."""

    arguments: list[str] = []
    """Passed by position, in this order."""
    options: list[str] = []
    """Passed by name; by position, after the arguments, where the student's names differ."""
    returns: list[str] = []
    """Names of the returned values: one means a tensor, two a pair; none: not checked."""


class Export(Signature, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function, or a class with its constructor's signature and ``forward``'s."""

    forward: Signature | None = None
    """Set for an ``nn.Module``; then ``arguments`` and ``options`` are the constructor's."""
    parameters: list[str] = []
    """Declared names of its ``nn.Linear`` (or other) members, as ``load_weights`` uses them."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What students implement and hand in as one file, and where its files lie."""

    id: str
    title: str
    file: str
    """Name of the file a student hands in, such as ``attention.py``."""
    exports: dict[str, Export]
    forbidden: list[str] = []
    """Dotted names of calls that the answer may not use, and options such as ``enable_gqa=``."""
    limits: Limits = Limits()
    own_tests: OwnTests = OwnTests()
    directory: Path
    """``assignments/<id>``."""
    public_suite: Path
    hidden_suite: Path | None
    """None without the course's private side."""
    reference: Path | None

    @property
    def stub(self) -> Path:
        return self.directory / self.file


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """Due dates and late penalties; all dates have a time zone."""

    due: dict[str, datetime]
    """By assignment; one that is not here is never late."""
    penalty_percent: float
    """Of an assignment's possible points, for each day that has begun."""
    most_percent: float = 100.0
    """More is not taken, however late it is."""
    grace_minutes: float = 0.0
    timezone: str = ""
    """Of dates that a platform writes without one; empty where none is known."""
    exceptions: dict[str, dict[str, datetime]] = {}
    """Other due dates by student, then by assignment."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with ``assignments/``; privately with ``solutions/`` and ``tests/hidden/`` too."""

    root: Path
    title: str
    assignments: dict[str, Assignment]
    """By id, in the course's order."""
    late: Late | None = None
    """None where being late costs nothing."""

    def around(self, assignment: Assignment) -> tuple[list[Assignment], list[Assignment]]:
        """The assignments that come before one, and those that come after it."""
        ids = list(self.assignments)
        others = list(self.assignments.values())
        place = ids.index(assignment.id)
        return others[:place], others[place + 1 :]
