"""pytest-json-report's document, for what already reads pytest's results as JSON.

The format is that of pytest-json-report 1.5 (its README, "Format"): a test for each check, and for
each case of one where pytest itself has run them. What the grader alone knows is under ``grader``,
of the whole and of each test, and the same wherever the document comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from grader.report import safe
from grader.report.formats.items import Item, encode, items, reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.model import Report, Status
from grader.report.words import notes, open_points

_OUTCOMES = {Status.PASSED: "passed", Status.SKIPPED: "skipped"}
"""Whatever else becomes of a check is ``failed``: ``error`` is what pytest calls a fixture's."""
_ALL_PASSED, _SOME_FAILED = 0, 1


def export(report: AnyReport) -> bytes:
    """The document of a run of pytest that has one test for each check."""
    tests = [_test(item) for item in items(report)]
    summary = Counter(test["outcome"] for test in tests)
    graded = reports(report)
    return encode(
        {
            "created": min((_seconds(one) for one in graded), default=0.0),
            "duration": sum(one.duration_s for one in graded),
            "exitcode": _ALL_PASSED if set(summary) <= {"passed", "skipped"} else _SOME_FAILED,
            "root": "",
            "environment": _environment(graded[0]) if graded else {},
            "summary": {**summary, "total": len(tests), "collected": len(tests)},
            "tests": tests,
            "grader": _whole(report),
        }
    )


def add_to(document: dict[str, Any], report: AnyReport, checks: Mapping[str, str]) -> None:
    """Put what ``report`` says under ``grader`` of a document that pytest-json-report has made.

    ``checks`` has for the node ids of its tests the ids of their checks, behind their assignment's
    as :func:`check_name` makes them.
    """
    document["grader"] = _whole(report)
    found = {check_name(one.report.assignment.id, one.check.id): one for one in items(report)}
    for test in document.get("tests", []):
        item = found.get(checks.get(test["nodeid"], ""))
        if item is not None:
            test["grader"] = _check(item)


def check_name(assignment: str, check: str) -> str:
    """A check's name among those of all assignments."""
    return f"{assignment}::{check}"


def _whole(report: AnyReport) -> dict[str, Any]:
    return {
        "earned": report.score.earned,
        "possible": report.score.possible,
        "assignments": [_assignment(one) for one in reports(report)],
    }


def _seconds(report: Report) -> float:
    """When it was begun, in seconds since 1970; 0 where a report from elsewhere has no date."""
    try:
        return datetime.fromisoformat(report.started_at).timestamp()
    except ValueError:
        return 0.0


def _environment(report: Report) -> dict[str, str]:
    found: dict[str, str] = msgspec.to_builtins(report.environment)
    return {name: safe.escape(text) for name, text in found.items()}


def _assignment(report: Report) -> dict[str, Any]:
    return {
        "assignment": safe.escape(report.assignment.id),
        "submission": safe.escape(report.submission.id),
        "status": report.status,
        "earned": report.score.earned,
        "possible": report.score.possible,
        "message": _escaped(report.message),
        "notes": [_escaped(note) for note in notes(report)],
        "diagnosis": [
            {
                "faults": [safe.escape(fault) for fault in one.faults],
                "message": _escaped(one.message),
                "hint": _escaped(one.hint),
                "belief": _escaped(one.belief),
            }
            for one in report.diagnosis
        ],
    }


def _test(item: Item) -> dict[str, Any]:
    check = item.check
    outcome = _OUTCOMES.get(check.status, "failed")
    call: dict[str, Any] = {"duration": check.duration_s, "outcome": outcome}
    lines = [safe.guard(safe.escape(line)) for line in item.lines()]
    if lines and outcome != "passed":
        call["longrepr"] = "\n".join(lines)
    if check.output.text:
        call["stdout"] = _escaped(check.output.text)
    return {
        "nodeid": safe.escape(check_name(item.report.assignment.id, check.id)),
        "lineno": check.location.line if check.location is not None else 0,
        "outcome": outcome,
        "keywords": [safe.escape(check.family), check.visibility.value],
        "call": call,
        "grader": _check(item),
    }


def _check(item: Item) -> dict[str, Any]:
    check = item.check
    message = f"{check.message} {open_points(check.open_imports)}".strip()
    return {
        "check": safe.escape(check.id),
        "title": safe.escape(item.title),
        "status": check.status.value,
        "earned": check.earned,
        "points": check.points,
        "message": _escaped(message),
        "hint": _escaped(check.hint),
        "because": check.because and safe.escape(check.because),
    }


def _escaped(text: str) -> str:
    return "\n".join(map(safe.guard, safe.lines(text)))


FORMAT = Format(
    name="pytest-json-report",
    help="The document that pytest-json-report writes, with points and diagnosis in it.",
    export=export,
    destination=".report.json",
)
