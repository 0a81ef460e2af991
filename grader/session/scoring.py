"""From what the checks did to the checks of a report: points, words, causes.

The list of expected checks decides: a check that did not report is ``not-run`` and earns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grader.course.families import depth
from grader.report.model import CheckResult, Evidence, Output, Status, Visibility
from grader.session.checks import Check
from grader.session.evidence import Exhibit
from grader.session.outcomes import Outcome, from_property

MAX_OUTPUT = 64 * 1024
"""Characters kept of what all cases of a check print."""


class Expected(msgspec.Struct, kw_only=True):
    """A check that was collected: its id, its declaration and its cases' pytest ids."""

    id: str
    check: Check
    visibility: Visibility
    cases: list[str]


def outcomes_by_case(json_report: dict[str, Any]) -> dict[str, Outcome]:
    """The outcome of every case, by pytest id, from pytest-json-report's report."""
    outcomes = {}
    for test in json_report.get("tests", []):
        for entry in test.get("user_properties", []):
            if "outcome" in entry:
                outcomes[test["nodeid"]] = from_property(entry["outcome"])
    return outcomes


def score(
    expected: list[Expected],
    outcomes: dict[str, Outcome],
    exhibits: Sequence[Exhibit],
    explained: frozenset[str] = frozenset(),
) -> list[CheckResult]:
    """One result a check, from the simplest family to the deepest.

    ``exhibits`` illustrate failures; ``explained`` are the families that a diagnosed misconception
    fails: of their failures the first stands for all.
    """
    shown = _public_details(expected, outcomes)
    results: list[CheckResult] = []
    causes: dict[str, str] = {}
    ordered = sorted(expected, key=lambda entry: depth(entry.check.family))
    root = _root(ordered, outcomes, explained)
    for entry in ordered:
        outcome = _worst([outcomes.get(case) for case in entry.cases])
        pictures: list[Evidence] = []
        if outcome.status in (Status.FAILED, Status.ERROR) and not outcome.unusable:
            pictures = _choose(entry.check, exhibits)
        cause = causes.get(outcome.signature) if outcome.signature else None
        if cause is None and outcome.status is Status.FAILED:
            cause = causes.get("shape")
            if cause is None and entry.check.family not in _OF_THEIR_OWN - explained:
                cause = root if root != entry.id else None
        if not outcome.passed:
            if outcome.signature:
                causes.setdefault(outcome.signature, entry.id)
            if outcome.status is Status.FAILED and entry.check.family == "shape":
                causes.setdefault("shape", entry.id)
        results.append(_result(entry, outcome, shown, pictures, None if outcome.passed else cause))
    return results


_OF_THEIR_OWN = frozenset({"policy", "parameters", "device", "purity", "dropout", "training"})
"""Families whose failure does not follow from wrong numbers."""


def _root(
    ordered: list[Expected], outcomes: dict[str, Outcome], explained: frozenset[str]
) -> str | None:
    """The failed check that stands for a diagnosed misconception: its simplest symptom."""
    for entry in ordered:
        outcome = _worst([outcomes.get(case) for case in entry.cases])
        if outcome.status is Status.FAILED and entry.check.family in explained:
            return entry.id
    return None


def _worst(outcomes: list[Outcome | None]) -> Outcome:
    """The outcome of a check with several cases: that of the first case that did not pass."""
    not_run = Outcome(status=Status.NOT_RUN, message="This check did not run.")
    found = [outcome or not_run for outcome in outcomes]
    chosen = next((outcome for outcome in found if not outcome.passed), found[0])
    printed = "".join(outcome.output for outcome in found)
    return msgspec.structs.replace(
        chosen,
        seconds=sum(outcome.seconds for outcome in found),
        output=printed[:MAX_OUTPUT],
        truncated=len(printed) > MAX_OUTPUT or any(outcome.truncated for outcome in found),
        evidence=[shown for outcome in found for shown in outcome.evidence],
        state_dependent=any(outcome.state_dependent for outcome in found),
    )


def _result(
    entry: Expected,
    outcome: Outcome,
    shown: dict[str, str],
    evidence: list[Evidence],
    because: str | None,
) -> CheckResult:
    message = outcome.message
    if entry.visibility is Visibility.HIDDEN and outcome.signature in shown:
        # The same error came with inputs that anybody may see, so its words are no secret.
        message = f"{message} {shown[outcome.signature]}".rstrip()
    return CheckResult(
        id=entry.id,
        title=entry.check.title,
        family=entry.check.family,
        points=entry.check.points,
        earned=entry.check.points if outcome.passed else 0,
        status=outcome.status,
        visibility=entry.visibility,
        message=message,
        hint="" if outcome.passed or outcome.unusable else outcome.hint or entry.check.hint,
        location=outcome.location,
        evidence=[*outcome.evidence, *evidence],
        detail=outcome.detail,
        because=because,
        state_dependent=outcome.state_dependent,
        output=Output(text=outcome.output, truncated=outcome.truncated),
        duration_s=round(outcome.seconds, 6),
    )


def _public_details(expected: list[Expected], outcomes: dict[str, Outcome]) -> dict[str, str]:
    """Messages of errors that public checks met, by the errors' signatures."""
    shown: dict[str, str] = {}
    for entry in expected:
        for case in entry.cases if entry.visibility is Visibility.PUBLIC else []:
            outcome = outcomes.get(case)
            if outcome is not None and outcome.status is Status.ERROR and outcome.signature:
                shown.setdefault(outcome.signature, outcome.detail)
    return shown


def _choose(check: Check, exhibits: Sequence[Exhibit]) -> list[Evidence]:
    """The differences of the demonstration that the check names.

    By default they are those of the first that shows any, of those about the check's family before
    all others.
    """
    if check.shows is not None:
        exhibits = [one for one in exhibits if one.demonstration.title == check.shows]
    about = [one for one in exhibits if check.family in one.demonstration.about]
    return next((one.evidence for one in [*about, *exhibits] if one.evidence), [])
