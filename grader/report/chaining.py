"""Saying that a failure may come from an earlier file that is imported and is not right itself."""

from __future__ import annotations

import re

import msgspec

from grader.report.model import CheckResult, Report, Status

_REMARK = re.compile(r"(?:^| )Uses your (?:\w+\.py(?: and )?)+, which ha(?:s|ve) open points\.$")
_NOTE = re.compile(rf"{_REMARK.pattern[:-1]} See to that first\.")


def mark_open_points(reports: list[Report]) -> list[Report]:
    """``reports`` of one submitter, where an imported assignment that lost points is pointed out.

    A note says so once in each report that lost points too, and with each failure that is not put
    down to another; what an earlier call has pointed out is taken back first.
    """
    reports = [_unmarked(report) for report in reports]
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


def _unmarked(report: Report) -> Report:
    checks = [
        msgspec.structs.replace(check, message=_REMARK.sub("", check.message))
        for check in report.checks
    ]
    notes = [note for note in report.notes if not _NOTE.fullmatch(note)]
    return msgspec.structs.replace(report, notes=notes, checks=checks)


def _mark(check: CheckResult, words: str) -> CheckResult:
    if check.status not in (Status.FAILED, Status.ERROR) or check.because is not None:
        return check
    return msgspec.structs.replace(check, message=f"{check.message} {words}".lstrip())
