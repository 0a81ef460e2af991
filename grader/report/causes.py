"""Groups failed checks by their cause, so that a report tells each cause once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from grader.report.model import CheckResult, Diagnosis, Evidence, Location, Output, Report, Status
from grader.report.words import open_points

_T = TypeVar("_T")

_UNSAID = {
    Status.FAILED: "The result is not the expected one.",
    Status.ERROR: "Your code raised an error.",
    Status.TIMEOUT: "Your code exceeded the time limit.",
    Status.CRASHED: "The process that ran your code ended before it answered.",
    Status.NOT_RUN: "This check was not run.",
    Status.NOT_STARTED: "This part of the stub is untouched.",
}
"""What to say for a check that comes without a message."""

_LAST = (Status.NOT_RUN, Status.NOT_STARTED)
"""Statuses with nothing to fix."""


def failed(check: CheckResult) -> bool:
    """Whether ``check`` is to be fixed: neither passed nor skipped."""
    return check.status not in (Status.PASSED, Status.SKIPPED)


def reason(check: CheckResult) -> str:
    """The message of ``check``, with what it imports; without either, what its status says."""
    said = f"{check.message} {open_points(check.open_imports)}".strip()
    return said or _UNSAID.get(check.status, "")


@dataclass
class Cause:
    """Checks that failed alike, or at one line, and those that their failure explains.

    What cost most points comes first.
    """

    checks: list[CheckResult]
    explained: list[CheckResult] = field(default_factory=list)
    is_misconception: bool = False
    """Whether a misconception of the report explains it, and says better what to think about."""

    @property
    def status(self) -> Status:
        return self.checks[0].status

    @property
    def lost(self) -> int:
        """The points that it costs, with what it explains."""
        return _lost([*self.checks, *self.explained])

    @property
    def reasons(self) -> list[str]:
        """What happened, in one way or, at one line, in several."""
        return _distinct(reason(check) for check in self.checks)

    @property
    def hint(self) -> str:
        """One alone, as those of one line can be contrary to each other; nothing for none."""
        hints = (check.hint for check in self.checks if check.hint)
        return "" if self.is_misconception else next(hints, "")

    @property
    def locations(self) -> list[Location]:
        return _distinct(check.location for check in self.checks if check.location)

    @property
    def evidence(self) -> list[Evidence]:
        return _distinct(item for check in self.checks for item in check.evidence)

    @property
    def details(self) -> list[str]:
        return _distinct(check.detail for check in self.checks if check.detail)

    @property
    def outputs(self) -> list[Output]:
        return _distinct(check.output for check in self.checks if check.output.text)


def causes(checks: Sequence[CheckResult], diagnoses: Sequence[Diagnosis] = ()) -> list[Cause]:
    """The failed ones of ``checks``, each once: the causes that cost most points first.

    What could not run, or is not begun, comes last. ``because`` is followed to its end. Where that
    is no failed check, or goes in a circle, the check stands for itself. Checks that stand for
    themselves and share status and message are one cause, and so are errors at one line.
    """
    failures = {check.id: check for check in checks if failed(check)}
    roots = {check.id: _root(check, failures) for check in failures.values()}
    found: dict[tuple[object, ...], Cause] = {}
    misconceived = {id: number for number, one in enumerate(diagnoses) for id in one.checks}

    def likeness(check: CheckResult) -> tuple[object, ...]:
        if check.status is Status.ERROR and check.location is not None:
            return check.status, check.location.file, check.location.line
        return check.status, check.message, misconceived.get(check.id)

    for check in failures.values():
        if roots[check.id] is check:
            found.setdefault(likeness(check), Cause([])).checks.append(check)
    for check in failures.values():
        root = roots[check.id]
        if root is not check:
            found[likeness(root)].explained.append(check)
    for cause in found.values():
        cost = Counter[str]()
        for check in (*cause.checks, *cause.explained):
            cost[roots[check.id].message] += _lost([check])
        cause.checks.sort(key=lambda check: -cost[check.message])
        cause.is_misconception = any(check.id in misconceived for check in cause.checks)
    return sorted(found.values(), key=lambda cause: (cause.status in _LAST, -cause.lost))


def around_diagnoses(report: Report) -> tuple[list[Cause], list[Cause]]:
    """The causes of a report: those to be told before its misconceptions, and those after.

    Before come those that cost more than all that the misconceptions explain.
    """
    found = causes(report.checks, report.diagnosis)
    explained = {id for one in report.diagnosis for id in one.checks}
    if not explained:
        return [], found
    cost = _lost(check for check in report.checks if check.id in explained)

    def is_dearer(cause: Cause) -> bool:
        return cause.lost > cost and not cause.is_misconception and cause.status not in _LAST

    before = list(takewhile(is_dearer, found))
    return before, found[len(before) :]


def _lost(checks: Iterable[CheckResult]) -> int:
    return sum(check.points - check.earned for check in checks)


def _root(check: CheckResult, failures: dict[str, CheckResult]) -> CheckResult:
    root, seen = check, {check.id}
    while root.because in failures:
        if root.because in seen:
            return check
        seen.add(root.because)
        root = failures[root.because]
    return root


def _distinct(items: Iterable[_T]) -> list[_T]:
    found: list[_T] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found
