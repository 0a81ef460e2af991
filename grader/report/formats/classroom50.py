"""Classroom 50: the ``result.json`` of an autograder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from grader.report import safe
from grader.report.formats.items import Item, encode, items, reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.model import Status

_ELSEWHERE = "local"
"""What stands for a link of Classroom 50's where its runner has set none."""


def result(report: AnyReport, environment: Mapping[str, str]) -> dict[str, Any]:
    """What Classroom 50 collects; its runner's variables say whose submission it is.

    The runner checks those fields, and writes ``owner`` and ``assignment_type`` itself.
    """
    first = reports(report)[0]
    commit = environment.get("COMMIT_URL") or _ELSEWHERE
    return {
        "schema": "classroom50/result/v1",
        "classroom": environment.get("CLASSROOM") or _ELSEWHERE,
        "assignment": environment.get("ASSIGNMENT") or first.assignment.id,
        "assignment_type": environment.get("ASSIGNMENT_TYPE") or "individual",
        "owner": environment.get("GITHUB_ACTOR") or safe.escape(first.submission.id),
        "submission": environment.get("SUBMISSION_TAG") or f"submit/{_ELSEWHERE}",
        "commit": commit,
        "release": environment.get("RELEASE_URL") or _ELSEWHERE,
        "review": environment.get("REVIEW_URL") or commit,
        "datetime": _moment(first.started_at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": report.final.earned,
        "max-score": report.score.possible,
        "tests": [_test(item) for item in items(report.for_student())],
    }


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:  # the report was written by hand, and the runner sets the time anyway
        return datetime.now(UTC)


def _test(item: Item) -> dict[str, Any]:
    return {
        "test-name": safe.escape(item.title),
        "passed": item.check.status is Status.PASSED,
        "score": item.check.earned,
        "max-score": item.check.points,
        "message": safe.escape(" ".join(item.lines())),
    }


FORMAT = Format(
    name="classroom50",
    help="Classroom 50's result.json.",
    export=lambda report: encode(result(report, os.environ)),
    destination="result.json",
)
