"""A report as a watch shows it: what has changed, and what to fix first."""

from __future__ import annotations

from grader.report.causes import Cause, around_diagnoses, failed
from grader.report.changes import Changes, changes, could_run
from grader.report.model import Report
from grader.report.page import Page
from grader.report.parts import add_cause, add_checks, add_diagnoses, add_printed
from grader.report.words import count, grade, notes

_MOST_CHECKS = 6
_MOST_EXPLAINED = 2


def show_verdict(page: Page, report: Report, before: Report | None, *, aside: str) -> None:
    """Print ``report`` and how it differs from ``before``; ``aside`` goes below its title."""
    change = changes(before, report) if before is not None and could_run(report) else None
    gained = f" ({change.points:+d})" if change is not None and change.points else ""
    status = "" if report.status == "graded" else f"{report.status.replace('-', ' ')}, "
    page.heading(f"{report.assignment.title}: {status}{grade(report)}{gained}")
    page.paragraph(aside, indent=2, style="dim")
    if report.status != "graded":
        page.paragraph(report.message, indent=2)
    for note in notes(report):
        page.paragraph(note, indent=2, label="Note: ")
    if report.status == "not-started":
        return
    if change is not None:
        _changes(page, change)
    dearer, others = around_diagnoses(report)
    if dearer:
        _first_to_mend(page, report, [*dearer, *others])
        add_diagnoses(page, report)
    else:
        add_diagnoses(page, report)
        _first_to_mend(page, report, others)


def _changes(page: Page, change: Changes) -> None:
    page.blank()
    if not change.any:
        page.heading("Nothing has changed since the last save")
        return
    page.heading("Since the last save")
    add_checks(page, change.failed, indent=2, most=_MOST_CHECKS)
    add_checks(page, change.passed, indent=2, most=_MOST_CHECKS)
    for label, diagnoses in (("New: ", change.found), ("Gone: ", change.gone)):
        for diagnosis in diagnoses:
            page.paragraph(diagnosis.message, indent=2, label=label)
    if not (change.failed or change.passed or change.found or change.gone):
        page.paragraph("The same checks pass and fail as before.", indent=2)


def _first_to_mend(page: Page, report: Report, found: list[Cause]) -> None:
    """The first cause with all that belongs to it, and the titles of the others."""
    if not found or report.status == "not-gradable":
        return
    page.blank()
    first, rest = found[0], found[1:]
    if not could_run(report):
        page.heading("No check can be run like this")
        page.paragraph(first.reasons[0], indent=2)
        for location in first.locations:
            page.paragraph(
                location.text.strip(), indent=4, label=f"{location.file}:{location.line}: "
            )
        for output in first.outputs[:1]:
            add_printed(page, output, "Your code printed:", indent=2)
        return
    wrong = sum(map(failed, report.checks))
    page.heading(f"{wrong} of {count(len(report.checks), 'check')} fail; fix this one first")
    add_cause(page, first, [], most_explained=_MOST_EXPLAINED)
    others = [check for cause in rest for check in (*cause.checks, *cause.explained)]
    if others:
        page.blank()
        page.heading("The others")
        add_checks(page, others, indent=2, most=_MOST_CHECKS)
