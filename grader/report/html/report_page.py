"""A report as a page: the score and what to do next, then the failures by cause."""

from __future__ import annotations

from dataclasses import dataclass

from grader.report.causes import Cause, around_diagnoses, failed
from grader.report.html.exhibits import Exhibit, exhibit
from grader.report.html.pages import render
from grader.report.model import Audience, CheckResult, CourseReport, Report, Status

_MOST_EVIDENCE = 3


@dataclass(frozen=True)
class CauseView:
    """A cause with what a page shows of it."""

    cause: Cause
    exhibits: list[Exhibit]

    @property
    def heading(self) -> str:
        """Its heading: the property that does not hold, or else what happened instead."""
        if self.cause.status is Status.FAILED:
            return self.cause.checks[0].title
        return self.cause.reasons[0]

    @property
    def messages(self) -> list[str]:
        """The messages below the heading."""
        return [said for said in self.cause.reasons if said != self.heading]

    @property
    def hint(self) -> str:
        """A question; empty if the check did not get as far as its property."""
        return self.cause.hint if self.cause.status in (Status.FAILED, Status.ERROR) else ""


@dataclass(frozen=True)
class ReportView:
    """A report arranged as it is read."""

    report: Report
    causes: list[CauseView]
    fine: list[CheckResult]
    """The checks that have not failed."""
    exhibits: list[Exhibit]
    """What they have to show all the same, such as the losses of a training."""
    crash_first: bool
    """Whether a cause that costs more than the misconceptions is to be fixed before them."""

    @property
    def passed(self) -> int:
        return sum(check.status is Status.PASSED for check in self.fine)

    @property
    def for_instructor(self) -> bool:
        return self.report.audience is Audience.INSTRUCTOR


def page(report: Report | CourseReport, *, name: str = "", back: str = "") -> bytes:
    """One self-contained HTML page; ``name`` says whose it is, ``back`` is a link to the class."""
    if isinstance(report, CourseReport):
        title, reports = report.course, report.reports
    else:
        title, reports = report.assignment.title, [report]
    return render(
        "report.html",
        title=title,
        name=name,
        back=back,
        whole=report if isinstance(report, CourseReport) else None,
        views=[_view(one) for one in reports],
    )


def _view(report: Report) -> ReportView:
    shown: list[Exhibit] = []
    views = []
    before, after = around_diagnoses(report)
    for cause in (*before, *after):
        found = [exhibit(evidence) for evidence in cause.evidence[:_MOST_EVIDENCE]]
        behind = [exhibit(evidence) for check in cause.explained for evidence in check.evidence]
        new = _distinct([*found, *(one for one in behind if one.telling)], shown)
        shown += new
        views.append(CauseView(cause, new))
    fine = [check for check in report.checks if not failed(check)]
    return ReportView(
        report,
        views,
        fine,
        [exhibit(evidence) for check in fine for evidence in check.evidence],
        bool(before),
    )


def _distinct(exhibits: list[Exhibit], shown: list[Exhibit]) -> list[Exhibit]:
    new: list[Exhibit] = []
    for one in exhibits:
        if one not in shown and one not in new:
            new.append(one)
    return new
