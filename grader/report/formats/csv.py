"""CSV: a row for each check, for a spreadsheet."""

from __future__ import annotations

import csv
import io

from grader.report import safe
from grader.report.formats.items import items
from grader.report.formats.registry import AnyReport, Format

_HEAD = (
    "submission",
    "assignment",
    "check",
    "title",
    "family",
    "visibility",
    "status",
    "earned",
    "points",
    "message",
)


def export(report: AnyReport) -> bytes:
    """A head and a row for each check. No cell is taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    for item in items(report):
        one, check = item.report, item.check
        words = (one.submission.id, one.assignment.id, check.id, check.title, check.family)
        writer.writerow(
            [
                *map(safe.cell, words),
                check.visibility.value,
                check.status.value,
                check.earned,
                check.points,
                safe.cell(" ".join(item.lines())),
            ]
        )
    return text.getvalue().encode()


FORMAT = Format(name="csv", help="A table with a row for each check.", export=export)
