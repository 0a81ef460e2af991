"""Words for statuses, numbers and scores, shared by all texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from grader.report.model import CourseReport, Diagnosis, Report, Score, Status

WORDS = {
    Status.PASSED: "ok",
    Status.FAILED: "FAILED",
    Status.ERROR: "ERROR",
    Status.TIMEOUT: "TIMEOUT",
    Status.CRASHED: "CRASHED",
    Status.NOT_RUN: "NOT RUN",
    Status.NOT_STARTED: "NOT STARTED",
    Status.SKIPPED: "skipped",
}

NO_SCORE: Final = "no score"


def count(number: float, thing: str) -> str:
    """``3 points``, ``1 point``, ``0 points``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def open_points(imports: Sequence[str]) -> str:
    """That the files of these assignments are imported and have open points; nothing for none."""
    if not imports:
        return ""
    files = " and ".join(f"{id}.py" for id in imports)
    return f"Uses your {files}, which {'has' if len(imports) == 1 else 'have'} open points."


def notes(report: Report) -> list[str]:
    """The notes of ``report``, and what it says of the files that are imported."""
    said = open_points(report.open_imports)
    return [*report.notes, f"{said} Fix that first."] if said else report.notes


def most_likely(diagnoses: Sequence[Diagnosis]) -> str:
    """The heading over a report's misconceptions."""
    return f"Most likely misconception{'s' if len(diagnoses) > 1 else ''}"


def points(score: Score) -> str:
    """``2 of 3 points``."""
    return f"{score.earned} of {count(score.possible, 'point')}"


def grade(report: Report | CourseReport) -> str:
    """The score of ``report``, ``2 of 3 points``, or that there is none, which is not 0."""
    return NO_SCORE if not has_score(report) else points(report.final)


def has_score(report: Report | CourseReport) -> bool:
    """Whether there is a score; a submission that could not be graded has none."""
    reports = report.reports if isinstance(report, CourseReport) else [report]
    return any(one.status != "not-gradable" for one in reports)


def lateness(report: Report) -> str:
    """The penalty for lateness, and the dates; empty if it was in time."""
    late = report.lateness
    if late is None:
        return ""
    return (
        f"{points(report.score)} for the checks, less {late.penalty} for "
        f"{count(late.days, 'day')} late: due {late.due}, handed in {late.handed_in} "
        f"({late.source})."
    )


def moment(text: str) -> str:
    """A report's time to the minute; any other text unchanged."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if when.tzinfo else text


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``word`` is likely to be a misspelling of, if there is one.

    It may be its beginning. Else a letter in four may be wrong; but who misspells a short word
    seldom does so at its beginning.
    """
    known = list(known)
    longer = [one for one in known if len(word) >= 3 and one.startswith(word)]
    if len(longer) == 1:
        return longer[0]
    for near in difflib.get_close_matches(word[:100], known, cutoff=0.75):
        same = difflib.SequenceMatcher(None, word[:100], near).ratio()
        if word[:1] == near[:1] or same >= 0.85:
            return near
    return None
