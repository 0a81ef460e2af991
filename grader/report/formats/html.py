"""A report as one HTML file."""

from __future__ import annotations

from grader.report.formats.registry import AnyReport, Format


def export(report: AnyReport) -> bytes:
    """``report`` as one HTML page that loads nothing."""
    from grader.report.html.report_page import page

    return page(report)


FORMAT = Format(
    name="html",
    help="A page with pictures, in one file that loads nothing else.",
    export=export,
    destination="report.html",
)
