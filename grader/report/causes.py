"""Failed checks arranged by what made them fail, so that each thing is said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from grader.report.model import CheckResult, Evidence, Location, Output, Status

_T = TypeVar("_T")

_UNSAID = {
    Status.FAILED: "The result is not the expected one.",
    Status.ERROR: "Your code raised an error.",
    Status.TIMEOUT: "Your code took longer than it may.",
    Status.CRASHED: "The process that ran your code ended before it answered.",
    Status.NOT_RUN: "This check did not get its turn.",
    Status.NOT_STARTED: "This part of the stub is untouched.",
}
"""What to say for a check that comes without a message."""


def failed(check: CheckResult) -> bool:
    """Whether ``check`` is one to mend: neither passed nor skipped."""
    return check.status not in (Status.PASSED, Status.SKIPPED)


def reason(check: CheckResult) -> str:
    """The message of ``check``; for a failed one without any, what its status says."""
    return check.message or _UNSAID.get(check.status, "")


@dataclass
class Cause:
    """Checks that failed alike, with one message, and those that their failure explains."""

    checks: list[CheckResult]
    explained: list[CheckResult] = field(default_factory=list)

    @property
    def status(self) -> Status:
        return self.checks[0].status

    @property
    def message(self) -> str:
        return self.checks[0].message

    @property
    def hints(self) -> list[str]:
        return _distinct(check.hint for check in self.checks if check.hint)

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


def causes(checks: Sequence[CheckResult]) -> list[Cause]:
    """The failed ones of ``checks``, each once, in their order.

    ``because`` is followed to its end. Where that is no failed check, or goes in a circle, the
    check stands for itself. Checks that stand for themselves and share status and message are
    one cause.
    """
    failures = {check.id: check for check in checks if failed(check)}
    roots = {check.id: _root(check, failures) for check in failures.values()}
    found: dict[tuple[Status, str], Cause] = {}
    for check in failures.values():
        if roots[check.id] is check:
            found.setdefault(_likeness(check), Cause([])).checks.append(check)
    for check in failures.values():
        root = roots[check.id]
        if root is not check:
            found[_likeness(root)].explained.append(check)
    return list(found.values())


def _likeness(check: CheckResult) -> tuple[Status, str]:
    return check.status, check.message


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
