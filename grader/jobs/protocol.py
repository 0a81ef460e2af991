"""What crosses between the command line and the grading process."""

from __future__ import annotations

import os
import secrets
from typing import Any, Literal, Self, TypeAlias

import msgspec

from grader.report.model import Status

SandboxMode: TypeAlias = Literal["auto", "require", "off"]
"""Whether to grade with what confinement there is, only with all of it, or with none."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How submissions are graded; ``seed`` is None for a fresh one each."""

    seed: int | None = None
    check_seconds: float | None = None
    public_only: bool = False
    sandbox: SandboxMode = "auto"
    isolate: bool = False
    chain: bool = False

    def with_one_seed(self) -> Self:
        """These options with a seed that is drawn now, if they have none."""
        if self.seed is not None:
            return self
        return msgspec.structs.replace(self, seed=secrets.randbits(53))


class Job(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """One submission to grade for one assignment; paths are absolute.

    They are bytes, since a path need not be UTF-8.
    """

    submission: bytes
    course: bytes
    assignment: str
    seed: int
    public_only: bool = False
    check_seconds: float | None = None
    """Overrides the assignment's limit."""
    sandbox: SandboxMode = "auto"
    chain: bool = False
    """Whether the student's files for earlier assignments may be imported."""
    beside: str | None = None
    """The folder from which a file may import; None for its own, if it is the assignment's."""
    packed: bool = False
    """Whether the submission was read elsewhere, and its path is a file of what was read."""
    repeated: bool = False
    """Whether more jobs for the same suites are sure to follow: what they share is made at once."""
    demonstrations_only: bool = False
    """Whether to run the handout's examples in the place of the checks; Demonstrated is the answer.
    """

    def __post_init__(self) -> None:
        self.submission, self.course = os.fsencode(self.submission), os.fsencode(self.course)


class Demonstration(msgspec.Struct, kw_only=True):
    """What came of one example of a handout, by name, as nested lists; or text for what is none."""

    title: str
    yours: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    """Nothing where the course has no reference."""
    message: str = ""
    """Why there is nothing of theirs."""


class Demonstrated(msgspec.Struct, kw_only=True):
    """A submission's results on the examples of the handout."""

    demonstrations: list[Demonstration] = []
    message: str = ""
    """Why it could not be run at all."""


class Progress(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """A check has ended; ``done`` of ``total`` cases have."""

    title: str
    status: Status
    done: int
    total: int


class Graded(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """The report, or Demonstrated, follows as the frame's blob: it can be larger than a message."""


class CannotGrade(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """The grader could not do its work; ``message`` says what to fix."""

    message: str
    wrong_course: bool = False
    """Whether the course is to be fixed."""
    for_every_job: bool = False
    """Whether any other job would meet the same."""


Event: TypeAlias = Progress | Graded | CannotGrade
