"""GitHub Actions: what is wrong, on the lines of the student's own files."""

from __future__ import annotations

from collections.abc import Iterator

from grader.report import safe
from grader.report.causes import causes
from grader.report.formats.items import for_student, reports
from grader.report.formats.registry import LOG, AnyReport, Format
from grader.report.model import Report


def _annotations(report: Report) -> Iterator[str]:
    if report.status == "not-gradable":
        yield _command(report.message, title=report.assignment.title)
    for cause in causes(report.checks):
        for location in cause.locations[:1]:
            # Where the file lies in a repository that `grade release` has made.
            inside = "/" in location.file
            file = (
                location.file if inside else f"assignments/{report.assignment.id}/{location.file}"
            )
            said = [cause.message, *(f"Hint: {hint}" for hint in cause.hints[:1])]
            yield _command(
                "\n".join(said), file=file, line=str(location.line), title=cause.checks[0].title
            )


def _command(message: str, **properties: str) -> str:
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(message)}\n"


def _data(text: str) -> str:
    return "%0A".join(line.replace("%", "%25") for line in safe.lines(text))


def _property(text: str) -> str:
    return _data(text.replace("\n", " ")).replace(":", "%3A").replace(",", "%2C")


def export(report: AnyReport) -> bytes:
    """A workflow command for each cause of a failure that has a place in the student's files."""
    lines = [line for one in reports(for_student(report)) for line in _annotations(one)]
    return "".join(lines).encode()


FORMAT = Format(
    name="github-annotations",
    help="GitHub Actions: errors shown at the lines of the student's files.",
    export=export,
    destination=LOG,
)
