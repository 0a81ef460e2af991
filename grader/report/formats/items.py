"""A report as one list of checks, as most formats need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from grader.report.causes import reason
from grader.report.formats.registry import AnyReport
from grader.report.model import CheckResult, CourseReport, Report, Status, Visibility

_SUBMISSION = "submission"


@dataclass(frozen=True)
class Item:
    """One check, with the report it belongs to."""

    report: Report
    check: CheckResult
    title: str
    """The check's, behind its assignment's where there are several."""

    def lines(self) -> Iterator[str]:
        """Its texts as plain lines, not escaped."""
        check = self.check
        yield from reason(check).splitlines()
        if check.location is not None:
            place = f"{check.location.file}:{check.location.line}"
            text = check.location.text.strip()
            yield f"{place}: {text}" if text else place
        if check.hint:
            yield f"Hint: {check.hint}"
        for other in self.report.checks:
            if other.id == check.because:
                yield f"Explained by: {other.title}"
        if check.state_dependent:
            yield "Passes only in a fresh process: something that ran earlier disturbs it."


def reports(report: AnyReport) -> list[Report]:
    """The reports that ``report`` consists of."""
    return report.reports if isinstance(report, CourseReport) else [report]


def items(report: AnyReport) -> list[Item]:
    """Every check of ``report``; their points add up to its score.

    A report without checks, as of what could not be graded, has one item that stands for all, so
    that no reader takes it for a success or divides by nothing.
    """
    several = isinstance(report, CourseReport)
    return [
        Item(one, check, f"{one.assignment.title}: {check.title}" if several else check.title)
        for one in reports(report)
        for check in one.checks or [_stand_in(one)]
    ]


def _stand_in(report: Report) -> CheckResult:
    return CheckResult(
        id=_SUBMISSION,
        title="The submission can be graded",
        family=_SUBMISSION,
        points=report.score.possible,
        earned=report.score.earned,
        status=Status.NOT_STARTED if report.status == "not-started" else Status.ERROR,
        visibility=Visibility.PUBLIC,
        message=report.message,
    )


def encode(value: object) -> bytes:
    """``value`` as the JSON of another system: indented, in UTF-8, with a line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
