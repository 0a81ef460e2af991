"""GitHub Actions: what the autograding reporter of GitHub Classroom reads from a step's outputs.

The reporter multiplies the share of the tests that passed by ``max_score`` for its table, and adds
up the tests' scores for its notice. The two agree, with each other and with us, if every test is
worth the same; so a check is a test for each of its points.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

import msgspec

from grader.report import safe
from grader.report.formats.items import Item, for_student, items, reports
from grader.report.formats.registry import AnyReport, Format, FormatError
from grader.report.model import CourseReport, Score, Status

_BROKEN = (Status.ERROR, Status.TIMEOUT, Status.CRASHED, Status.NOT_RUN)

_MOST_BYTES = 96 * 1024
"""Linux starts no process with a variable of more than 128 KiB, base64 included."""


def runner_result(report: AnyReport, *, brief: bool = False) -> dict[str, Any]:
    """What a grader of GitHub Classroom would say; ``brief`` names each check once."""
    score = report.score
    worth = [item for item in items(report) if item.check.points > 0]
    unit = math.gcd(*(number for i in worth for number in (i.check.points, i.check.earned))) or 1
    tests = [test for item in worth for test in _tests(item, unit, brief=brief)]
    return {
        "version": 1,
        "status": _status(report, score),
        "max_score": score.possible,
        "tests": tests or [_test("Nothing was graded", "pass" if _full(score) else "fail", 0)],
    }


def _status(report: AnyReport, score: Score) -> str:
    if all(one.status == "not-gradable" for one in reports(report)):
        return "error"
    return "pass" if _full(score) else "fail"


def _full(score: Score) -> bool:
    return 0 < score.possible == score.earned


def _tests(item: Item, unit: int, *, brief: bool) -> list[dict[str, Any]]:
    check = item.check
    count, passed = check.points // unit, check.earned // unit
    lost = "error" if check.status in _BROKEN else "fail"
    title = safe.escape(item.title)
    tests = []
    for number in range(count):
        name = title if count == 1 else f"{title} ({number + 1} of {count})"
        if brief and number:
            name = f"({number + 1} of {count})"
        # Of an error the reporter prints the message alone, which once is enough.
        status = "pass" if number < passed else lost if number == passed else "fail"
        test = _test(name, status, unit if status == "pass" else 0)
        if number == passed:
            said = safe.escape(" ".join(item.lines()))
            test["message"] = f"{name}: {said}" if lost == "error" else said
            test["line_no"] = check.location.line if check.location else 0
        tests.append(test)
    return tests


def _test(name: str, status: str, score: int) -> dict[str, Any]:
    # `line_no` is 0 and not missing, which would be printed as "line undefined".
    return {"name": name, "status": status, "score": score, "line_no": 0}


def output_name(assignment: str) -> str:
    """The step output that holds the result of one assignment."""
    return "result_" + re.sub(r"\W", "_", assignment)


def export(report: AnyReport) -> bytes:
    """Lines for ``$GITHUB_OUTPUT``: ``result``, one for each assignment, and the points."""
    shown = for_student(report)
    parts = {output_name(one.assignment.id): one for one in reports(shown)}
    lines = [
        f"earned={report.score.earned}",
        f"possible={report.score.possible}",
        f"result={_encoded(shown)}",
        *(f"{name}={_encoded(part)}" for name, part in parts.items()),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _encoded(report: AnyReport) -> str:
    for brief in (False, True):
        content = msgspec.json.encode(runner_result(report, brief=brief))
        if len(content) * 4 // 3 <= _MOST_BYTES:
            return base64.b64encode(content).decode()
    what = "course" if isinstance(report, CourseReport) else "assignment"
    raise FormatError(
        f"a {what} of {report.score.possible} points is too large for GitHub's reporter, which "
        "gets a test for each point; grade fewer assignments in a step"
    )


FORMAT = Format(
    name="github",
    help="GitHub Classroom's autograding reporter: a step output, with summary and annotations.",
    export=export,
    destination="$GITHUB_OUTPUT",
    along=("github-summary", "github-annotations"),
)
