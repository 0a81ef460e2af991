"""What a class's reports say about checks, misconceptions, and submissions to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import StatisticsError, correlation, mean

import msgspec

from grader.batch.copies import copies
from grader.batch.reading import Entry
from grader.report.causes import reason
from grader.report.changes import why_not_run
from grader.report.model import CheckResult, Diagnosis, Report, Status

FEWEST = 5
"""From fewer submissions a discrimination would be chance."""


class CheckStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How well one check works as an exam question."""

    title: str
    family: str
    solved: float
    """The share of its points that the class earned, 0 to 1: low is difficult."""
    discrimination: float | None
    """The correlation of its points with all the others', -1 to 1: low tells nobody apart. None
    where it is the same for all, or too few were graded."""


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """A misconception with those who hold it."""

    diagnosis: Diagnosis
    entries: list[Entry]


class Concern(msgspec.Struct, frozen=True, kw_only=True):
    """A reason to look at one or several submissions."""

    kind: str
    assignment: str
    why: str
    entries: list[Entry] = []
    student: str = ""
    """Whose it is, where there is no report."""


def check_statistics(reports: Sequence[Report]) -> list[CheckStatistics]:
    """The checks of one assignment's ``reports``, the most difficult first."""
    graded = [report for report in reports if report.status == "graded"]
    earned: dict[str, list[tuple[float, float]]] = defaultdict(list)
    known: dict[str, CheckResult] = {}
    for report in graded:
        for check in report.checks:
            if check.points and check.status is not Status.SKIPPED:
                known[check.id] = check
                rest = report.score.earned - check.earned
                earned[check.id].append((check.earned / check.points, rest))
    found = [
        CheckStatistics(
            title=known[id].title,
            family=known[id].family,
            solved=mean(share for share, _ in pairs),
            discrimination=_discrimination(pairs),
        )
        for id, pairs in earned.items()
    ]
    return sorted(found, key=lambda one: one.solved)


def _discrimination(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < FEWEST:
        return None
    try:
        return correlation(*zip(*pairs, strict=True))
    except StatisticsError:  # all of them did alike
        return None


def beliefs(entries: Iterable[Entry]) -> list[Belief]:
    """The misconceptions that were found, the most frequent first."""
    held: dict[tuple[str, tuple[str, ...]], list[tuple[Diagnosis, Entry]]] = defaultdict(list)
    for entry in entries:
        for one in entry.report.diagnosis:
            held[entry.assignment, tuple(one.faults)].append((one, entry))
    found = [
        Belief(diagnosis=pairs[0][0], entries=[entry for _, entry in pairs])
        for pairs in held.values()
    ]
    return sorted(found, key=lambda one: -len(one.entries))


def concerns(entries: Sequence[Entry]) -> list[Concern]:
    """Submissions that crash, take too long, do not run or could not be graded; suspicious ones."""
    found = []
    for entry in entries:
        report = entry.report
        if report.status == "not-gradable":
            found.append(_concern("not gradable", report.message, entry))
        if error := why_not_run(report):
            found.append(_concern("does not run", error, entry))
        for status, kind in ((Status.CRASHED, "crashed"), (Status.TIMEOUT, "timed out")):
            first = next((check for check in report.checks if check.status is status), None)
            if first is not None:
                found.append(_concern(kind, reason(first), entry))
        for check in report.checks:
            if check.family == "policy" and check.status is Status.FAILED:
                found.append(_concern("suspicious", reason(check), entry))
    return [*found, *_copies(entries)]


def _copies(entries: Sequence[Entry]) -> list[Concern]:
    """Submissions that are the same to the letter, unless they are the untouched stub."""
    found = []
    for alike in copies(
        entries, lambda one: (one.report.status, one.assignment, one.report.submission.digest)
    ):
        # A group's work is graded once: its members have one report.
        gradings = {msgspec.json.encode(entry.report) for entry in alike}
        if len(gradings) > 1:
            found.append(_concern("suspicious", "Their files are identical.", *alike))
    return found


def _concern(kind: str, why: str, *entries: Entry) -> Concern:
    return Concern(kind=kind, assignment=entries[0].assignment, why=why, entries=list(entries))
