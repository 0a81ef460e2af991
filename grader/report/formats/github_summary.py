"""GitHub Actions: the page of a run."""

from __future__ import annotations

from grader.report.formats.items import for_student
from grader.report.formats.markdown import render
from grader.report.formats.registry import AnyReport, Format

_MOST_BYTES = 1024 * 1024
"""GitHub shows nothing of a larger one."""


def export(report: AnyReport) -> bytes:
    """The report as Markdown; what is over GitHub's limit is left out from its end."""
    content = render(for_student(report)).encode()
    if len(content) > _MOST_BYTES:
        content = content[: content.rindex(b"\n\n", 0, _MOST_BYTES) + 1]
    return content


FORMAT = Format(
    name="github-summary",
    help="GitHub Actions: the report as the summary of a step.",
    export=export,
    destination="$GITHUB_STEP_SUMMARY",
)
