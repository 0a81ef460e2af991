"""The results of a batch as data: ``summary.json``."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from grader.report.model import Person

SUMMARY_VERSION: Final = 1

TaskStatus: TypeAlias = Literal["graded", "not-started", "not-gradable", "grading-failed"]
"""A report's, or ``grading-failed``: nothing can be said of it. Neither it nor ``not-gradable`` has
a score."""


class Misconception(msgspec.Struct, frozen=True, kw_only=True):
    faults: list[str]
    message: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one submission for one assignment."""

    students: list[str]
    assignment: str
    title: str = ""
    status: TaskStatus
    earned: int | None = None
    """What counts, after what being late costs; None where it could not be graded: that is no 0."""
    possible: int | None = None
    days_late: int = 0
    penalty: int = 0
    """Points that being late has cost."""
    message: str = ""
    is_bug: bool = False
    """Whether the grader itself is to blame, as the message says."""
    misconceptions: list[Misconception] = []
    crashed: bool = False
    """Whether the code crashed in a check."""
    timed_out: bool = False
    does_not_run: str = ""
    """The error that keeps every check from being run, if there is one."""
    digest: str = ""
    """Of the files; equal for equal ones."""
    duration_s: float = 0.0
    kept: bool = False
    """Whether an earlier run of the batch had graded it."""
    outdated: bool = False
    """Whether something else has been handed in since, which is still to be graded."""
    attempts: int = 1


class ClassPerson(Person, frozen=True, kw_only=True):
    """A student of the class, and the assignments in which these ids were used."""

    assignments: list[str]


class AssignmentSummary(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    possible: int | None
    submissions: int
    scored: int
    mean: float | None
    median: float | None
    lowest: int | None
    highest: int | None


class MisconceptionSummary(msgspec.Struct, frozen=True, kw_only=True):
    assignment: str
    faults: list[str]
    message: str
    students: list[str]


class StudentNote(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that needs attention, and why."""

    student: str
    assignment: str = ""
    message: str = ""
    is_bug: bool = False
    """Whether the grader itself is to blame, as the message says."""


class Copies(msgspec.Struct, frozen=True, kw_only=True):
    """Students whose files are identical."""

    assignment: str
    students: list[str]


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. ``median`` and ``slowest`` are of the submissions graded in this run."""

    batch: float
    median: float | None
    slowest: float | None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    students: int
    submissions: int
    graded: int
    not_started: int
    not_gradable: int
    grading_failed: int
    open: int
    """Not yet graded, because the batch was interrupted."""
    kept: int


class Summary(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="batch-summary"):
    """A batch as a whole."""

    schema_version: Literal[1] = SUMMARY_VERSION
    course: str
    grader: str
    started_at: str
    complete: bool
    found: list[str]
    counts: Counts
    durations: Durations
    assignments: list[AssignmentSummary]
    misconceptions: list[MisconceptionSummary]
    crashed: list[StudentNote]
    timed_out: list[StudentNote]
    not_gradable: list[StudentNote]
    grading_failed: list[StudentNote]
    unassigned: list[StudentNote]
    late: list[StudentNote]
    collisions: list[str]
    left_out: list[str]
    does_not_run: list[StudentNote] = []
    """Submissions with an error, such as one of syntax, that keeps every check from being run."""
    copies: list[Copies] = []
    notes: list[StudentNote]
    """What the platform said, and which attempt was taken."""
    people: list[ClassPerson] = []
    """Who everybody is, as the platforms say; those of whom nothing but a name is known too."""
    not_in_input: list[StudentNote] = []
    """Who is in the class by an earlier run, and was not in the input of this one."""
    only_these: list[StudentNote] = []
    """Who was in the class before ``--only-these`` began it anew."""
    replaced: list[StudentNote] = []
    """Whose earlier report said something else, and where it is kept."""
    lost: list[StudentNote] = []
    """Whose report has been taken away, or damaged."""
