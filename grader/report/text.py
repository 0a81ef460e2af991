"""A report as text: for a terminal, a pipe, a log or a screen reader.

What matters most comes first, and every state is a word, never only a colour.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from grader.report.causes import around_diagnoses, causes, failed
from grader.report.model import (
    Audience,
    CheckResult,
    CourseReport,
    Evidence,
    Report,
    Status,
)
from grader.report.page import Page
from grader.report.parts import (
    add_cause,
    add_diagnoses,
    add_evidence,
    add_printed,
    check_row,
)
from grader.report.words import NO_SCORE, grade, has_score, lateness, moment, notes

_PLAIN_WIDTH = 80
_MOST_ROWS = 8
"""Of passed checks beside failed ones; of more only the number is of interest."""


def render(
    report: Report | CourseReport, console: Console, *, pictures: bool | None = None
) -> None:
    """Print ``report`` to ``console``: in colour on a terminal, as plain lines anywhere else.

    ``pictures`` as for :class:`Page`.
    """
    page = Page(console, pictures=pictures)
    if isinstance(report, CourseReport):
        _course(page, report)
    else:
        _report(page, report)


def plain(report: Report | CourseReport) -> str:
    """What :func:`render` prints where there is no terminal, in lines of 80 columns."""
    shown = io.StringIO()
    render(report, Console(file=shown, width=_PLAIN_WIDTH, color_system=None))
    return shown.getvalue()


def _course(page: Page, course: CourseReport) -> None:
    page.heading(f"{course.course}: {grade(course)}")
    page.blank()
    page.table([_summary(report) for report in course.reports], indent=2)
    for report in course.reports:
        if _worth_showing(report):
            page.blank()
            page.blank()
            _report(page, report)


def _summary(report: Report) -> tuple[Text, str, str]:
    wrong = sum(map(failed, report.checks))
    if report.status != "graded":
        word, style = report.status.replace("-", " "), "yellow"
    elif wrong:
        word, style = f"{wrong} FAILED", "bold red"
    else:
        word, style = "ok", "green"
    return Text(word, style), report.assignment.title, _figure(report)


def _worth_showing(report: Report) -> bool:
    """Whether there is more to say than the summary's line does."""
    if report.message or notes(report):
        return True
    return report.status != "not-started" and any(map(failed, report.checks))


def _report(page: Page, report: Report) -> None:
    _title(page, report)
    if report.status == "not-started":
        return
    _checks(page, report.checks, report)
    if report.output.text:
        page.blank()
        add_printed(page, report.output, "Your file printed this when it was imported:", indent=0)
    _footer(page, report)


def _title(page: Page, report: Report) -> None:
    title, earned = report.assignment.title, grade(report)
    match report.status:
        case "graded":
            page.heading(f"{title}: {earned}")
        case "not-started":
            page.heading(f"{title}: not started, {earned}")
        case "not-gradable":
            page.heading(f"{title}: could not be graded, {earned}")
    if report.audience is Audience.INSTRUCTOR:
        page.paragraph(report.submission.id, indent=2, label="Submission: ")
    page.paragraph(lateness(report), indent=2)
    # Indented, so that no line of a student's can pass for one of the grader's.
    page.paragraph(report.message, indent=2)
    for note in notes(report):
        page.paragraph(note, indent=2, label="Note: ")


def _checks(page: Page, checks: Sequence[CheckResult], report: Report | None = None) -> None:
    """What is wrong, the dearest first, with the misconceptions of ``report``; then the rest."""
    before, after = around_diagnoses(report) if report else ([], causes(checks))
    shown: list[Evidence] = []
    for cause in before:
        page.blank()
        add_cause(page, cause, shown)
    if report is not None:
        add_diagnoses(page, report)
    for cause in after:
        page.blank()
        add_cause(page, cause, shown)
    if checks:
        page.blank()
        _fine(page, checks)


def _fine(page: Page, checks: Sequence[CheckResult]) -> None:
    """The checks that did not fail; where others did, no long list of those that passed."""
    fine = [check for check in checks if not failed(check)]
    passed = sum(check.status is Status.PASSED for check in checks)
    page.heading(f"Checks: {passed} of {len(checks)} passed")
    plain = [check for check in fine if check.status is Status.PASSED and not _has_more(check)]
    short = len(plain) > _MOST_ROWS and len(fine) < len(checks)
    page.table([check_row(check) for check in fine if not (short and check in plain)], indent=2)
    skipped = [c.message for c in fine if c.status is Status.SKIPPED and c.message]
    for message in dict.fromkeys(skipped):
        page.paragraph(message, indent=2, label="Skipped: ")
    for check in fine:
        for evidence in check.evidence:
            add_evidence(page, evidence, indent=2)


def _has_more(check: CheckResult) -> bool:
    return check.state_dependent or bool(check.evidence)


def _footer(page: Page, report: Report) -> None:
    page.blank()
    page.paragraph(", ".join(report.unprotected), label="Not enforced here: ")
    page.paragraph(
        f"Seed {report.seed}; --seed {report.seed} grades with the same inputs again.", style="dim"
    )
    if report.audience is Audience.INSTRUCTOR:
        used = report.environment
        page.paragraph(
            f"Graded in {report.duration_s:.1f} s by grader {used.grader} with torch {used.torch}, "
            f"Python {used.python}, {used.platform}, started {moment(report.started_at)}.",
            style="dim",
        )


def _figure(report: Report) -> str:
    return f"{report.final.earned}/{report.final.possible}" if has_score(report) else NO_SCORE


def render_checks(checks: Sequence[CheckResult], console: Console) -> None:
    """Print the results of ``checks``, without the rest of a report."""
    _checks(Page(console), checks)
