"""Markdown: for the page of a run, an issue, or a message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.report import matrix, safe
from grader.report.causes import Cause, around_diagnoses, failed
from grader.report.formats.items import reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.model import CourseReport, Evidence, Report
from grader.report.words import NO_SCORE, grade, has_score, lateness, most_likely, notes

_WIDTH = 90


def render(report: AnyReport) -> str:
    """``report`` as Markdown; what students wrote stays text."""
    blocks: list[str] = []
    if isinstance(report, CourseReport):
        blocks += [f"# {safe.markdown(report.course)}: {grade(report)}", _overview(report)]
    for one in reports(report):
        blocks += _report(one, "##" if isinstance(report, CourseReport) else "#")
    return "\n\n".join(block for block in blocks if block) + "\n"


def _overview(course: CourseReport) -> str:
    rows = [
        (
            safe.markdown(one.assignment.title),
            one.status,
            f"{one.final.earned}/{one.final.possible}" if has_score(one) else NO_SCORE,
        )
        for one in course.reports
    ]
    return _table(("Assignment", "Status", "Points"), rows)


def _report(report: Report, level: str) -> Iterator[str]:
    yield f"{level} {safe.markdown(report.assignment.title)}: {grade(report)}"
    yield _paragraph(lateness(report))
    yield _paragraph(report.message)
    yield "\n".join(f"- {safe.markdown(note)}" for note in notes(report))
    before, after = around_diagnoses(report)
    for cause in before:
        yield from _cause(cause, level)
    if report.diagnosis:
        yield f"{level}# {most_likely(report.diagnosis)}"
    for diagnosis in report.diagnosis:
        yield f"**{safe.markdown(diagnosis.message)}**"
        yield _labelled("The belief behind it", diagnosis.belief)
        yield _labelled("Hint", diagnosis.hint)
    for cause in after:
        yield from _cause(cause, level)
    if report.checks:
        rows = [
            (check.status.value, safe.markdown(check.title), f"{check.earned}/{check.points}")
            for check in sorted(report.checks, key=failed, reverse=True)
        ]
        yield f"{level}# All checks"
        yield _table(("Result", "Check", "Points"), rows)


def _cause(cause: Cause, level: str) -> Iterator[str]:
    yield f"{level}# {safe.markdown(cause.checks[0].title)}"
    yield from map(_paragraph, cause.reasons)
    for location in cause.locations:
        yield f"{safe.markdown(f'{location.file}:{location.line}')}\n\n{_code(location.text)}"
    for evidence in cause.evidence[:1]:
        yield _evidence(evidence)
    yield _labelled("Hint", cause.hint)
    others = [*cause.checks[1:], *cause.explained]
    if others:
        yield _labelled("The same explains", "; ".join(check.title for check in others))


def _evidence(evidence: Evidence) -> str:
    if evidence.kind == "curve":
        return ""
    numbers = matrix.comparison(evidence.yours, evidence.expected, _WIDTH)
    if not numbers:
        return ""
    caption = f'On the handout\'s example "{evidence.demonstration}", {evidence.name}:'
    return f"{safe.markdown(caption)}\n\n{_code(chr(10).join(line.plain for line in numbers))}"


def _paragraph(text: str) -> str:
    return "  \n".join(safe.markdown(line) for line in text.splitlines())


def _labelled(label: str, text: str) -> str:
    return f"{label}: {_paragraph(text)}" if text else ""


def _code(text: str) -> str:
    content = "\n".join(map(safe.guard, safe.lines(text)))
    if not content.strip():
        return ""
    ticks = max(map(len, re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}text\n{content}\n{fence}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * (len(head) - 1) + ("---:",), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


FORMAT = Format(
    name="markdown",
    help="Markdown, for reading.",
    export=lambda report: render(report).encode(),
)
