"""Saying that a failure may come from an earlier file that is imported and is not right itself."""

from __future__ import annotations

import msgspec

from grader.report.model import CheckResult, Report, Status


def mark_open_points(reports: list[Report]) -> list[Report]:
    """``reports`` of one submitter, where an imported assignment that lost points is pointed out.

    A note says so once in each report that lost points too, and with each failure that is not put
    down to another: what was not graded in the same run is not pointed out.
    """
    scores = {report.assignment.id: report.score for report in reports}
    marked = []
    for report in reports:
        uses = report.submission.uses
        open_ones = [id for id in uses if id in scores and scores[id].earned < scores[id].possible]
        if open_ones and report.score.earned < report.score.possible:
            files = " and ".join(f"{id}.py" for id in open_ones)
            verb = "has" if len(open_ones) == 1 else "have"
            words = f"Uses your {files}, which {verb} open points."
            report = msgspec.structs.replace(
                report,
                notes=[*report.notes, f"{words} See to that first."],
                checks=[_mark(check, words) for check in report.checks],
            )
        marked.append(report)
    return marked


def _mark(check: CheckResult, words: str) -> CheckResult:
    if check.status not in (Status.FAILED, Status.ERROR) or check.because is not None:
        return check
    return msgspec.structs.replace(check, message=f"{check.message} {words}".lstrip())
