"""The parts that several texts share: a misconception, a cause, evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from grader.report import matrix, safe
from grader.report.causes import Cause
from grader.report.model import Audience, CheckResult, Evidence, Output, Report, Status
from grader.report.page import Page
from grader.report.words import WORDS, count, most_likely

_PRINTED_LINES = 20
_DETAIL_LINES = 40
_MOST_EVIDENCE = 2
_VALUE_LENGTH = 200

_STYLES = {Status.PASSED: "green", Status.SKIPPED: "yellow"}


def add_diagnoses(page: Page, report: Report) -> None:
    """The misconceptions, and how sure they are; nothing for none."""
    diagnoses, audience = report.diagnosis, report.audience
    if not diagnoses:
        return
    page.blank()
    page.heading(most_likely(diagnoses))
    for number, diagnosis in enumerate(diagnoses):
        if number:
            page.blank()
        page.paragraph(diagnosis.message, indent=2)
        page.paragraph(diagnosis.belief, indent=2, label="The belief behind it: ")
        page.paragraph(diagnosis.hint, indent=2, label="Hint: ", style="cyan")
        if audience is Audience.INSTRUCTOR:
            page.paragraph(" or ".join(diagnosis.faults), indent=2, label="Fault: ")
    if len(diagnoses) > 1:
        page.blank()
    one = diagnoses[0]
    agreement = "exactly" if one.exactness == 0 else f"to within {one.exactness:.1e}"
    page.paragraph(
        f"Your code behaves like this {agreement} on {count(one.probes, 'input')}, "
        "and like no other misconception known here.",
        indent=2,
    )
    if not one.complete:
        page.paragraph(
            "Not all that failed comes from this: something else is wrong too.", indent=2
        )


def check_row(check: CheckResult) -> tuple[Text, str, str]:
    """A check as a row of a table."""
    word = Text(WORDS[check.status], _STYLES.get(check.status, "bold red"))
    aside = " (only in a fresh process)" if check.state_dependent else ""
    return word, check.title + aside, f"{check.earned}/{check.points}"


def add_checks(
    page: Page, checks: Sequence[CheckResult], *, indent: int, most: int | None = None
) -> None:
    """A row for each check, or for the first ``most`` of them."""
    page.table([check_row(check) for check in checks[:most]], indent=indent)
    if most is not None and len(checks) > most:
        page.paragraph(f"... and {len(checks) - most} more", indent=indent)


def add_cause(
    page: Page, cause: Cause, shown: list[Evidence], *, most_explained: int | None = None
) -> None:
    """One cause; evidence that stands further up already (``shown``) is not repeated.

    Of the checks that it explains, the first ``most_explained`` are named.
    """
    page.table([check_row(check) for check in cause.checks], indent=2)
    for said in cause.reasons:
        page.paragraph(said, indent=4)
    for location in cause.locations:
        place = f"{location.file}:{location.line}"
        if location.text.strip():
            page.paragraph(location.text.strip(), indent=4, label=f"{place}: ")
        else:
            page.paragraph(place, indent=4)
    for evidence in cause.evidence[:_MOST_EVIDENCE]:
        if evidence not in shown:
            add_evidence(page, evidence, indent=4)
            shown.append(evidence)
    page.paragraph(cause.hint, indent=4, label="Hint: ", style="cyan")
    for detail in cause.details:
        page.paragraph("Detail:", indent=4)
        page.quote(detail, indent=4, most=_DETAIL_LINES)
    for output in cause.outputs:
        add_printed(page, output, "Your code printed:", indent=4)
    if cause.explained:
        page.paragraph("Also explained by this:", indent=4)
        add_checks(page, cause.explained, indent=6, most=most_explained)


def add_evidence(page: Page, evidence: Evidence, *, indent: int) -> None:
    """A counterexample as numbers, weights as shades too, or a curve on one line."""
    if evidence.kind == "curve":
        page.paragraph(_curve(evidence), indent=indent)
        return
    weights = evidence.shows == "weights"
    axes = " (a row for each query, a column for each key)" if weights else ""
    caption = f'On the handout\'s example "{evidence.demonstration}", {evidence.name}{axes}:'
    page.paragraph(safe.escape(caption), indent=indent)
    room = page.width - 6
    numbers = matrix.comparison(evidence.yours, evidence.expected, room)
    if not numbers:
        page.paragraph(_value(evidence.yours), indent=6, label="yours     ")
        page.paragraph(_value(evidence.expected), indent=6, label="expected  ")
    for line in numbers:
        page.line(line, indent=6)
    if weights and page.pictures and numbers:
        shades = matrix.heatmap(evidence.yours, evidence.expected, room, page.ramp)
        if shades:
            page.paragraph("The same as shades, from blank for 0 to full for 1:", indent=indent)
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


def add_printed(page: Page, output: Output, heading: str, *, indent: int) -> None:
    """What the student's code printed, behind bars."""
    page.paragraph(heading, indent=indent)
    page.quote(output.text, indent=indent, most=_PRINTED_LINES)
    if output.truncated:
        page.paragraph("(The rest of the output was not kept.)", indent=indent)
