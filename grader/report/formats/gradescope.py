"""Gradescope: the ``results.json`` of an autograder."""

from __future__ import annotations

from typing import Any

from grader.report import safe
from grader.report.formats.items import Item, encode, items, reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.model import Status
from grader.report.text import plain


def results(report: AnyReport) -> dict[str, Any]:
    """What Gradescope shows: every check, and the whole report as text above them.

    Its score is what counts after a penalty for being late, its tests' are what the checks earned.
    All of it is visible, for if any test were hidden, students would not see their total.
    """
    shown = report.for_student()
    return {
        "score": report.final.earned,
        "execution_time": round(sum(one.duration_s for one in reports(report)), 3),
        "output": plain(shown),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(item, str(number)) for number, item in enumerate(items(shown), 1)],
        "extra_data": {
            "possible": report.score.possible,
            "assignments": {one.assignment.id: one.final.earned for one in reports(report)},
            "seeds": {one.assignment.id: one.seed for one in reports(report)},
        },
    }


def _test(item: Item, number: str) -> dict[str, Any]:
    check = item.check
    test = {
        "number": number,
        "name": safe.escape(item.title),
        "score": check.earned,
        "max_score": check.points,
        "output": "\n".join(map(safe.escape, item.lines())),
        "tags": [safe.escape(check.family)],
        "visibility": "visible",
    }
    if check.status is not Status.SKIPPED:
        test["status"] = "passed" if check.status is Status.PASSED else "failed"
    return test


FORMAT = Format(
    name="gradescope",
    help="Gradescope's results.json.",
    export=lambda report: encode(results(report)),
    destination="results.json",
)
