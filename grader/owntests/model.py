"""What a student's tests of an assignment are worth, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.report.model import Audience, Environment, SandboxInfo, Score


class Rejection(msgspec.Struct, frozen=True, kw_only=True):
    """A test that rejects right answers, and what it said of the first."""

    test: str
    line: int
    """Of the tests' file; 0 where it is not known."""
    message: str
    rejects: int
    """How many of the right answers."""
    answers: list[str] = []
    """Which ones; only in an instructor's report."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Faults of one family, and how many of them the tests caught."""

    family: str
    words: str
    caught: int
    faults: int


class FaultEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one fault."""

    slug: str
    family: str
    belief: str
    caught_by: str = ""
    """The test that caught it; empty if none did."""
    problem: str = ""
    """Why its run did not come to an end."""


class Thoroughness(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="own-tests-report"
):
    """A file of tests, run on right answers and on faults."""

    schema_version: Literal[1] = 1
    assignment: str
    title: str
    file: str
    digest: str
    """SHA-256 of the file, in hex."""
    audience: Audience = Audience.INSTRUCTOR
    tests: int
    """How many there are, counted on right answers."""
    valid: bool
    """Whether they let every right answer pass."""
    message: str = ""
    """Why they could not be run, or not to their end."""
    rejections: list[Rejection] = []
    right_answers: int
    caught: int
    """0 where the tests are not valid."""
    faults: int
    kinds: list[Kind] = []
    """None where the tests are not valid."""
    details: list[FaultEntry] = []
    """One a fault; only in an instructor's report."""
    score: Score | None = None
    """None where the assignment gives no points for tests."""
    sandbox: SandboxInfo
    environment: Environment
    seed: int
    started_at: str
    duration_s: float

    @property
    def percent(self) -> float:
        """The share of the faults that is caught, 0 to 100; 0 where the tests are not valid."""
        return 100.0 * self.caught / self.faults if self.faults else 0.0

    def for_student(self) -> Thoroughness:
        """What a student may see, without the names of right answers and faults."""
        return msgspec.structs.replace(
            self,
            audience=Audience.STUDENT,
            details=[],
            rejections=[msgspec.structs.replace(one, answers=[]) for one in self.rejections],
        )


def points_for(caught: int, faults: int, points: int) -> Score:
    """The share of ``points`` that ``caught`` of ``faults`` is worth, rounded down."""
    return Score(earned=points * caught // faults if faults else 0, possible=points)
