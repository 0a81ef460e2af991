"""PrairieLearn: the ``results.json`` of an external grader."""

from __future__ import annotations

from typing import Any

from grader.report import safe
from grader.report.formats.items import Item, encode, items, reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.text import plain
from grader.report.words import grade

_MOST_CHARACTERS = 200_000
"""Of the report as text; PrairieLearn refuses results of more than a megabyte."""


def results(report: AnyReport) -> dict[str, Any]:
    """What PrairieLearn shows. What could not be graded is not gradable there, and costs no try."""
    shown = report.for_student()
    output = plain(shown)[:_MOST_CHARACTERS]
    if all(one.status == "not-gradable" for one in reports(report)):
        said = [safe.escape(one.message) for one in reports(report)]
        return {"gradable": False, "format_errors": said, "output": output}
    score = report.final
    return {
        "gradable": True,
        "score": score.earned / score.possible if score.possible else 0.0,
        "message": grade(report),
        "output": output,
        "tests": [_test(item) for item in items(shown)],
    }


def _test(item: Item) -> dict[str, Any]:
    lines = [safe.escape(line) for line in item.lines()]
    # Points stand in every test: without them in one, no test's details would be shown.
    return {
        "name": safe.escape(item.title),
        "points": item.check.earned,
        "max_points": item.check.points,
        "message": lines[0] if lines else "",
        "output": "\n".join(lines[1:]),
    }


FORMAT = Format(
    name="prairielearn",
    help="PrairieLearn's results.json for an external grader.",
    export=lambda report: encode(results(report)),
    destination="results.json",
)
