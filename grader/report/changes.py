"""Compares a report with an earlier one on the same assignment."""

from __future__ import annotations

import msgspec

from grader.report.causes import causes, failed
from grader.report.model import CheckResult, Diagnosis, Report, Status


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """From ``before`` to ``after``."""

    points: int
    """Gained; lost if negative."""
    passed: list[CheckResult]
    """As they are now: those that pass now and did not."""
    failed: list[CheckResult]
    """As they are now: those that fail now and did not."""
    found: list[Diagnosis]
    """Misconceptions that were not seen before."""
    gone: list[Diagnosis]
    """Misconceptions that are seen no more."""

    @property
    def any(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.points or self.passed or self.failed or self.found or self.gone)


def changes(before: Report, after: Report) -> Changes:
    """What has changed; checks are told apart by their ids, misconceptions by their faults."""
    failing = {check.id for check in before.checks if failed(check)}
    passing = {check.id for check in before.checks if check.status is Status.PASSED}
    known = [set(one.faults) for one in before.diagnosis]
    seen = [set(one.faults) for one in after.diagnosis]
    return Changes(
        points=after.score.earned - before.score.earned,
        passed=[c for c in after.checks if c.status is Status.PASSED and c.id in failing],
        failed=[c for c in after.checks if failed(c) and c.id in passing],
        found=[one for one in after.diagnosis if set(one.faults) not in known],
        gone=[one for one in before.diagnosis if set(one.faults) not in seen],
    )


def why_not_run(report: Report) -> str:
    """The error that stops every check, such as a syntax error; empty without one."""
    if report.status != "graded" or could_run(report):
        return ""
    (cause,) = causes(report.checks)
    return cause.reasons[0] if cause.status is Status.ERROR else ""


def could_run(report: Report) -> bool:
    """Whether the submission could be read and run, right or wrong."""
    if report.status == "not-gradable":
        return False
    found = causes(report.checks)
    broken = (Status.ERROR, Status.TIMEOUT, Status.CRASHED)
    nothing_else = len(found) == 1 and all(map(failed, report.checks))
    return not (nothing_else and found[0].status in broken)
