"""A batch's summary for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.batch.model import Counts, StudentNote, Summary
from grader.batch.store import EARLIER
from grader.report.words import count

MOST_SHOWN = 5


def lines(summary: Summary) -> Iterator[str]:
    """What the class did, and what needs a look."""
    yield _counts(summary.counts)
    for one in summary.assignments:
        if one.mean is not None:
            yield (
                f"{one.title}: mean {one.mean:g}, median {one.median:g}, "
                f"{one.lowest} to {one.highest} of {count(one.possible or 0, 'point')}"
            )
    if summary.misconceptions:
        yield "Most common misconceptions:"
    for held in summary.misconceptions[:MOST_SHOWN]:
        yield f"  {len(held.students)} in {held.assignment}: {held.message}"
    for title, named in (
        ("Not gradable", summary.not_gradable),
        ("The grading failed", summary.grading_failed),
        ("Crashed", summary.crashed),
        ("Timed out", summary.timed_out),
        ("Does not run", summary.does_not_run),
        ("Late", summary.late),
        ("Not in the input this time, so kept", summary.not_in_input),
        (f"No longer in this class, reports are in {EARLIER}/", summary.only_these),
        ("The report is lost or damaged; grade it again", summary.lost),
    ):
        if named:
            yield f"{title}: {_names(named)}"
    bugs = [one.message for one in summary.grading_failed if one.is_bug]
    yield from list(dict.fromkeys(bugs))[:MOST_SHOWN]
    for old in summary.replaced[:MOST_SHOWN]:
        yield f"Replaced: {old.student} ({old.assignment}), {old.message}"
    if len(summary.replaced) > MOST_SHOWN:
        yield f"and {len(summary.replaced) - MOST_SHOWN} more reports; see summary.json"
    for alike in summary.copies[:MOST_SHOWN]:
        yield f"Identical files: {', '.join(alike.students)} ({alike.assignment})"
    if len(summary.copies) > MOST_SHOWN:
        yield f"and {len(summary.copies) - MOST_SHOWN} more identical files; see summary.json"


def left_out_words(names: Sequence[str]) -> str:
    """What was not graded, since it is nobody's, and what helps."""
    one = len(names) == 1
    more = f"; and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return (
        f"{count(len(names), 'submission')} {'was' if one else 'were'} left out, since nothing "
        f"says whose {'it is' if one else 'they are'}: {'; '.join(names[:MOST_SHOWN])}{more}. All "
        f"others are graded. Rename {'it' if one else 'them'}, or say how the folder is laid out: "
        "--layout NAME (--layout list names them) or --pattern '{student}/{assignment}.py'."
    )


def _names(named: Sequence[StudentNote]) -> str:
    names = [
        f"{one.student} ({one.assignment})" if one.assignment else one.student
        for one in named[:MOST_SHOWN]
    ]
    more = f" and {len(named) - MOST_SHOWN} more" if len(named) > MOST_SHOWN else ""
    return ", ".join(names) + more


def _counts(counts: Counts) -> str:
    words = [f"{counts.graded} graded"]
    words += [
        f"{number} {what}"
        for number, what in (
            (counts.not_started, "not started"),
            (counts.not_gradable, "not gradable"),
            (counts.grading_failed, "whose grading failed"),
            (counts.open, "still to grade"),
        )
        if number
    ]
    kept = f"; {counts.kept} kept from an earlier run" if counts.kept else ""
    return (
        f"{count(counts.submissions, 'submission')} of {count(counts.students, 'student')}: "
        f"{', '.join(words)}{kept}"
    )
