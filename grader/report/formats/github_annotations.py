"""GitHub Actions: what is wrong, on the lines of the student's own files."""

from __future__ import annotations

from collections.abc import Iterator

from grader.report import safe
from grader.report.causes import Cause, around_diagnoses
from grader.report.formats.items import reports
from grader.report.formats.registry import LOG, AnyReport, Format
from grader.report.model import Report


def _annotations(report: Report) -> Iterator[str]:
    title = report.assignment.title
    if report.status == "not-gradable":
        yield _command(report.message, title=title)
        return
    main = report.submission.files[0].name if report.submission.files else ""
    before, after = around_diagnoses(report)
    yield from (_cause(report, cause, main) for cause in before)
    for diagnosis in report.diagnosis:
        said = f"{diagnosis.message}\nHint: {diagnosis.hint}"
        yield _command(said, title=f"Most likely misconception in {title}", **_place(report, main))
    yield from (_cause(report, cause, main) for cause in after)


def _cause(report: Report, cause: Cause, main: str) -> str:
    said = "\n".join([*cause.reasons, *([f"Hint: {cause.hint}"] if cause.hint else [])])
    properties = _place(report, main)
    for location in cause.locations[:1]:
        properties = _place(report, location.file) | {"line": str(location.line)}
    return _command(said, title=cause.checks[0].title, **properties)


def _place(report: Report, name: str) -> dict[str, str]:
    """Where a file of the submission lies in a repository that `grade release` has made."""
    folder = f"assignments/{report.assignment.id}/"
    return {"file": folder + name.removeprefix(folder)} if name else {}


def _command(message: str, **properties: str) -> str:
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(message)}\n"


def _data(text: str) -> str:
    return "%0A".join(line.replace("%", "%25") for line in safe.lines(text))


def _property(text: str) -> str:
    return _data(text.replace("\n", " ")).replace(":", "%3A").replace(",", "%2C")


def export(report: AnyReport) -> bytes:
    """A workflow command for each misconception, and for each cause of a failure."""
    lines = [line for one in reports(report.for_student()) for line in _annotations(one)]
    return "".join(lines).encode()


FORMAT = Format(
    name="github-annotations",
    help="GitHub Actions: errors shown at the lines of the student's files.",
    export=export,
    destination=LOG,
)
