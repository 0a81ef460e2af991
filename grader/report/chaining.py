"""Which failures may come from an earlier file that is imported and is not right itself."""

from __future__ import annotations

import msgspec

from grader.report.model import CheckResult, Report, Status


def mark_open_points(reports: list[Report]) -> list[Report]:
    """``reports`` of one submitter, each with the imported assignments that lost points.

    They are named in each report that lost points too, and with each failure that is not put down
    to another. What an earlier call has found is replaced.
    """
    scores = {report.assignment.id: report.score for report in reports}
    lost = {id for id, score in scores.items() if score.earned < score.possible}
    marked = []
    for report in reports:
        uses = report.submission.uses if report.assignment.id in lost else []
        open_imports = [id for id in uses if id in lost]
        checks = [
            msgspec.structs.replace(check, open_imports=open_imports if _is_root(check) else [])
            for check in report.checks
        ]
        marked.append(msgspec.structs.replace(report, open_imports=open_imports, checks=checks))
    return marked


def _is_root(check: CheckResult) -> bool:
    return check.status in (Status.FAILED, Status.ERROR) and check.because is None
