"""A report for reading: in a terminal, in a pipe, in a log, by a screen reader.

What matters most comes first, and every state is a word, never only a colour.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from grader.report import matrix, safe
from grader.report.causes import Cause, causes, failed, reason
from grader.report.model import (
    Audience,
    CheckResult,
    CourseReport,
    Diagnosis,
    Evidence,
    Output,
    Report,
    Score,
    Status,
)
from grader.report.page import Page
from grader.report.words import WORDS

_PLAIN_WIDTH = 80
_PRINTED_LINES = 20
_DETAIL_LINES = 40
_MOST_EVIDENCE = 2
_VALUE_LENGTH = 200

_STYLES = {Status.PASSED: "green", Status.SKIPPED: "yellow"}


def render(report: Report | CourseReport, console: Console) -> None:
    """Print ``report`` to ``console``: in colour on a terminal, as plain lines anywhere else."""
    page = Page(console)
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
    page.heading(f"{course.course}: {_points(course.score)}")
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
    return Text(word, style), report.assignment.title, _figure(report.final)


def _worth_showing(report: Report) -> bool:
    """Whether there is more to say than the summary's line does."""
    if report.message or report.notes:
        return True
    return report.status != "not-started" and any(map(failed, report.checks))


def _report(page: Page, report: Report) -> None:
    _title(page, report)
    if report.status == "not-started":
        return
    _diagnoses(page, report.diagnosis, report.audience)
    _checks(page, report.checks)
    if report.output.text:
        page.blank()
        _printed(page, report.output, "Your file printed this when it was imported:", indent=0)
    _footer(page, report)


def _title(page: Page, report: Report) -> None:
    title, points = report.assignment.title, _points(report.final)
    match report.status:
        case "graded":
            page.heading(f"{title}: {points}")
        case "not-started":
            page.heading(f"{title}: not started (stub untouched), {points}")
        case "not-gradable":
            page.heading(f"{title}: could not be graded, {points}")
    if report.audience is Audience.INSTRUCTOR:
        page.say(report.submission.id, indent=2, label="Submission: ")
    if (late := report.lateness) is not None:
        page.say(
            f"{_points(report.score)} for the checks, less {late.penalty} for "
            f"{_count(late.days, 'day')} late: due {late.due}, handed in {late.handed_in} "
            f"({late.source}).",
            indent=2,
        )
    # Indented, so that no line of a student's can pass for one of the grader's.
    page.say(report.message, indent=2)
    for note in report.notes:
        page.say(note, indent=2, label="Note: ")


def _diagnoses(page: Page, diagnoses: Sequence[Diagnosis], audience: Audience) -> None:
    if not diagnoses:
        return
    page.blank()
    page.heading("Most likely misconception" + ("s" if len(diagnoses) > 1 else ""))
    for number, diagnosis in enumerate(diagnoses):
        if number:
            page.blank()
        page.say(diagnosis.message, indent=2)
        page.say(diagnosis.belief, indent=2, label="The belief behind it: ")
        page.say(diagnosis.hint, indent=2, label="Hint: ", style="cyan")
        if audience is Audience.INSTRUCTOR:
            page.say(" or ".join(diagnosis.faults), indent=2, label="Fault: ")
    if len(diagnoses) > 1:
        page.blank()
    one = diagnoses[0]
    agreement = "exactly" if one.exactness == 0 else f"to within {one.exactness:.1e}"
    page.say(
        f"Your code behaves like this {agreement} on {_count(one.probes, 'probe')}, "
        "and like no other misconception known here.",
        indent=2,
    )
    if not one.complete:
        page.say("It does not explain everything: something else is wrong too.", indent=2)


def _checks(page: Page, checks: Sequence[CheckResult]) -> None:
    if not checks:
        return
    passed = sum(check.status is Status.PASSED for check in checks)
    page.blank()
    page.heading(f"Checks: {passed} of {len(checks)} passed")
    page.table([_row(check) for check in checks if not failed(check)], indent=2)
    skipped = [c.message for c in checks if c.status is Status.SKIPPED and c.message]
    for message in dict.fromkeys(skipped):
        page.say(message, indent=2, label="Skipped: ")
    for check in checks:
        for evidence in check.evidence if not failed(check) else []:
            _evidence(page, evidence, indent=2)
    shown: list[Evidence] = []
    for cause in causes(checks):
        page.blank()
        _cause(page, cause, shown)


def _row(check: CheckResult) -> tuple[Text, str, str]:
    word = Text(WORDS[check.status], _STYLES.get(check.status, "bold red"))
    aside = " (only in a fresh process)" if check.state_dependent else ""
    return word, check.title + aside, f"{check.earned}/{check.points}"


def _cause(page: Page, cause: Cause, shown: list[Evidence]) -> None:
    """One cause; evidence that stands further up already (``shown``) is not repeated."""
    page.table([_row(check) for check in cause.checks], indent=2)
    page.say(reason(cause.checks[0]), indent=4)
    for location in cause.locations:
        place = f"{location.file}:{location.line}"
        if location.text.strip():
            page.say(location.text.strip(), indent=4, label=f"{place}: ")
        else:
            page.say(place, indent=4)
    for evidence in cause.evidence[:_MOST_EVIDENCE]:
        if evidence not in shown:
            _evidence(page, evidence, indent=4)
            shown.append(evidence)
    for hint in cause.hints[:1]:
        page.say(hint, indent=4, label="Hint: ", style="cyan")
    for detail in cause.details:
        page.say("Detail:", indent=4)
        page.quote(detail, indent=4, most=_DETAIL_LINES)
    for output in cause.outputs:
        _printed(page, output, "Your code printed:", indent=4)
    if cause.explained:
        page.say("Also explained by this:", indent=4)
        page.table([_row(check) for check in cause.explained], indent=6)


def _evidence(page: Page, evidence: Evidence, *, indent: int) -> None:
    if evidence.kind == "curve":
        page.say(_curve(evidence), indent=indent)
        return
    weights = evidence.name == "weights"
    axes = " (a row for each query, a column for each key)" if weights else ""
    caption = f'On the handout\'s example "{evidence.demonstration}", {evidence.name}{axes}:'
    page.say(safe.escape(caption), indent=indent)
    room = page.width - 6
    numbers = matrix.comparison(evidence.yours, evidence.expected, room)
    if not numbers:
        page.say(_value(evidence.yours), indent=6, label="yours     ")
        page.say(_value(evidence.expected), indent=6, label="expected  ")
    for line in numbers:
        page.line(line, indent=6)
    shades = matrix.heatmap(evidence.yours, evidence.expected, room) if weights else []
    if shades and page.pictures:
        page.say("As shades, from blank for 0 to full for 1:", indent=4)
        for line in shades:
            page.line(line, indent=6)


def _curve(evidence: Evidence) -> str:
    """The ends of a curve and its floor, on one line."""
    steps = evidence.yours if isinstance(evidence.yours, list) and evidence.yours else ["?"]
    first, last = (_figures(steps[place]) for place in (0, -1))
    floor = "" if evidence.expected is None else f", floor {_figures(evidence.expected)}"
    return safe.escape(f"{evidence.name} {first} → {last}{floor}")


def _figures(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else str(value)[:_VALUE_LENGTH]


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}..."


def _printed(page: Page, output: Output, heading: str, *, indent: int) -> None:
    page.say(heading, indent=indent)
    page.quote(output.text, indent=indent, most=_PRINTED_LINES)
    if output.truncated:
        page.say("(It printed more than is kept.)", indent=indent)


def _footer(page: Page, report: Report) -> None:
    page.blank()
    page.say(", ".join(report.unprotected), label="Not enforced here: ")
    page.say(
        f"Seed {report.seed}; --seed {report.seed} grades with the same inputs again.", style="dim"
    )
    if report.audience is Audience.INSTRUCTOR:
        used = report.environment
        page.say(
            f"Graded in {report.duration_s:.1f} s by grader {used.grader} with torch {used.torch}, "
            f"Python {used.python}, {used.platform}, started {report.started_at}.",
            style="dim",
        )


def _points(score: Score) -> str:
    return f"{score.earned} of {_count(score.possible, 'point')}"


def _figure(score: Score) -> str:
    return f"{score.earned}/{score.possible}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def render_checks(checks: Sequence[CheckResult], console: Console) -> None:
    """Print what became of ``checks``, and nothing of what else a report says."""
    _checks(Page(console), checks)
