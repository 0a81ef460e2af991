"""What a batch is handed over as: ``grades.csv`` and ``summary.json``."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median

import grader
from grader.batch.copies import copies
from grader.batch.model import (
    AssignmentSummary,
    Copies,
    Counts,
    Durations,
    MisconceptionSummary,
    Named,
    Result,
    Summary,
)
from grader.batch.plan import Plan
from grader.course.model import Course
from grader.report import safe
from grader.report.words import count


def grades_csv(plan: Plan, results: Sequence[Result], ids: Sequence[str]) -> bytes:
    """A row for each student: name, points of each assignment in ``ids``, total, status.

    A cell is empty where nothing was handed in or no score can be given; the status says which.
    """
    points: dict[str, dict[str, int]] = defaultdict(dict)
    remarks: dict[str, dict[str, str]] = defaultdict(dict)
    planned = [(name, task.assignment) for task in plan.tasks for name in task.students]
    for student, assignment in planned:
        remarks[student][assignment] = "open"
    for result in results:
        for student in result.students:
            remarks[student][result.assignment] = late(result) or result.status
            if result.earned is not None:
                points[student][result.assignment] = result.earned
    for one in plan.unassigned:
        remark = remarks[one.student]
        if not one.missing:
            remark[""] = "not-recognised"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *ids, "total", "status"])
    for student in sorted(remarks, key=lambda name: (name.casefold(), name)):
        earned = points[student]
        cells = [earned.get(id, "") for id in ids]
        total = sum(earned.values()) if earned else ""
        writer.writerow([safe.cell(student), *cells, total, _status(remarks[student], ids)])
    return text.getvalue().encode("utf-8", "backslashreplace")


def late(result: Result) -> str:
    """How late it was and what that cost; empty where it was in time."""
    if not result.days_late:
        return ""
    return f"{count(result.days_late, 'day')} late, -{result.penalty}"


def _status(remarks: dict[str, str], ids: Sequence[str]) -> str:
    """One word if it is the same for every assignment, else one for each that is not graded."""
    every = remarks if "" in remarks else {id: remarks.get(id, "missing") for id in ids}
    if len(set(every.values())) <= 1:
        return next(iter(every.values()), "missing")
    return "; ".join(f"{id} {word}".strip() for id, word in every.items() if word != "graded")


def summarise(
    plan: Plan,
    results: Sequence[Result],
    course: Course,
    *,
    started_at: str,
    seconds: float,
    complete: bool,
) -> Summary:
    """The batch as a whole; ``results`` may be in the order in which they came."""
    order = list(course.assignments)
    results = sorted(results, key=lambda one: (order.index(one.assignment), one.students))
    statuses = [result.status for result in results]
    fresh = [result.duration_s for result in results if not result.kept and result.duration_s]
    students = {name for task in plan.tasks for name in task.students}
    students |= {one.student for one in plan.unassigned}
    return Summary(
        course=course.title,
        grader=grader.__version__,
        started_at=started_at,
        complete=complete,
        found=plan.layouts,
        counts=Counts(
            students=len(students),
            submissions=len(plan.tasks),
            graded=statuses.count("graded"),
            not_started=statuses.count("not-started"),
            not_gradable=statuses.count("not-gradable"),
            grading_failed=statuses.count("grading-failed"),
            open=len(plan.tasks) - len(results),
            kept=sum(result.kept for result in results),
        ),
        durations=Durations(
            batch=round(seconds, 3),
            median=round(median(fresh), 3) if fresh else None,
            slowest=round(max(fresh), 3) if fresh else None,
        ),
        assignments=[
            _of_assignment(id, title, [one for one in results if one.assignment == id])
            for id, title in _titles(plan, course).items()
        ],
        misconceptions=_misconceptions(results),
        crashed=_named(one for one in results if one.crashed),
        timed_out=_named(one for one in results if one.timed_out),
        not_gradable=_named(one for one in results if one.status == "not-gradable"),
        grading_failed=_named(one for one in results if one.status == "grading-failed"),
        unassigned=[Named(student=one.student, message=one.message) for one in plan.unassigned],
        late=[
            Named(student=name, assignment=result.assignment, message=late(result))
            for result in results
            if result.days_late
            for name in result.students
        ],
        does_not_run=[
            Named(student=name, assignment=result.assignment, message=result.does_not_run)
            for result in results
            if result.does_not_run
            for name in result.students
        ],
        copies=_copies(results),
        collisions=plan.collisions,
        left_out=plan.left_out,
        notes=[
            Named(student=name, assignment=task.assignment, message=note)
            for task in plan.tasks
            for name in task.students
            for note in task.notes
        ],
    )


def assignment_ids(plan: Plan, course: Course) -> list[str]:
    """The assignments that were handed in, in the course's order."""
    return list(_titles(plan, course))


def _titles(plan: Plan, course: Course) -> dict[str, str]:
    handed_in = {task.assignment for task in plan.tasks}
    return {one.id: one.title for one in course.assignments.values() if one.id in handed_in}


def _of_assignment(id: str, title: str, results: list[Result]) -> AssignmentSummary:
    earned = [
        result.earned for result in results if result.earned is not None for _ in result.students
    ]
    possible = [result.possible for result in results if result.possible]
    return AssignmentSummary(
        id=id,
        title=title,
        possible=max(possible) if possible else None,
        submissions=sum(len(result.students) for result in results),
        scored=len(earned),
        mean=round(mean(earned), 2) if earned else None,
        median=float(median(earned)) if earned else None,
        lowest=min(earned) if earned else None,
        highest=max(earned) if earned else None,
    )


def _misconceptions(results: Sequence[Result]) -> list[MisconceptionSummary]:
    behind: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    messages = {}
    for result in results:
        for one in result.misconceptions:
            key = (result.assignment, tuple(one.faults))
            messages[key] = one.message
            behind[key] += result.students
    return [
        MisconceptionSummary(
            assignment=key[0], faults=list(key[1]), message=messages[key], students=sorted(students)
        )
        for key, students in sorted(behind.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def _copies(results: Sequence[Result]) -> list[Copies]:
    """Who handed in what is the same to the letter; a group's work is one result."""
    return [
        Copies(
            assignment=alike[0].assignment,
            students=sorted(name for one in alike for name in one.students),
        )
        for alike in copies(results, lambda one: (one.status, one.assignment, one.digest))
    ]


def _named(results: Iterable[Result]) -> list[Named]:
    return [
        Named(student=name, assignment=result.assignment, message=result.message)
        for result in results
        for name in result.students
    ]
