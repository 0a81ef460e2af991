"""The events of a watch."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from grader.jobs.protocol import Progress
from grader.jobs.targets import Target
from grader.report.model import Report


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A grading has begun; if another was going on, its result will not come."""

    target: Target


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A check of the current grading has ended."""

    progress: Progress


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A report, an instructor's, on what was saved last."""

    target: Target
    report: Report
    before: Report | None
    """The one to compare it with: the last on code that could be run."""
    seconds: float | None
    """From noticing that it was saved to here; None if it was not saved, but looked at first."""
    following: Target | None = None
    """What is graded next, this one having full marks."""
    is_next: bool = False
    """Whether it was graded because the one before it has full marks, and not because of a save."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """The saved file could not be graded, through no fault of the student."""

    target: Target
    message: str


Event: TypeAlias = Started | Step | Verdict | Trouble
