"""What a batch is handed over as: ``grades.csv`` and ``summary.json``."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median

import msgspec

import grader
from grader.batch.copies import copies
from grader.batch.model import (
    AssignmentSummary,
    ClassPerson,
    Copies,
    Counts,
    Durations,
    MisconceptionSummary,
    Result,
    StudentNote,
    Summary,
)
from grader.batch.plan import Plan
from grader.batch.roll import LOST, MISSING, NOT_RECOGNISED, OPEN, Member
from grader.course.model import Course
from grader.report import safe
from grader.report.model import Person
from grader.report.words import count

WHO = ("id", "login", "email")


def grades_csv(members: Sequence[Member], results: Sequence[Result], ids: Sequence[str]) -> bytes:
    """A row for each student: name, points of each assignment in ``ids``, total, status, ids.

    A cell is empty where nothing was handed in or no score can be given; the status says which. So
    it is of an id, a login and an address that no platform has said.
    """
    points: dict[str, dict[str, int]] = defaultdict(dict)
    remarks: dict[str, dict[str, str]] = defaultdict(dict)
    people: dict[str, dict[str, Person]] = defaultdict(dict)
    for member in members:
        student, assignment = member.place
        people[student][assignment] = member.person
        remark = remarks[student]
        if member.status != MISSING:
            remark[assignment] = member.status
    for result in results:
        for student in result.students:
            remarks[student][result.assignment] = _remark(result)
            if result.earned is not None:
                points[student][result.assignment] = result.earned
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *ids, "total", "status", *WHO])
    for student in sorted(remarks, key=lambda name: (name.casefold(), name)):
        earned = points[student]
        cells = [earned.get(id, "") for id in ids]
        total = sum(earned.values()) if earned else ""
        order = [id for id in ("", *ids) if id in people[student]]
        who = [
            safe.cell(_said([(id, people[student][id]) for id in order], field)) for field in WHO
        ]
        writer.writerow([safe.cell(student), *cells, total, _status(remarks[student], ids), *who])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _remark(result: Result) -> str:
    if result.outdated:
        return "open, points of before"
    return late(result) or result.status


def _said(people: Sequence[tuple[str, Person]], field: str) -> str:
    """What is said of a student; where it differs, for which assignment."""
    found: dict[str, str] = {id: getattr(person, field) for id, person in people}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return "; ".join(f"{id} {value}".strip() for id, value in found.items() if value)


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
    members: Sequence[Member],
    results: Sequence[Result],
    course: Course,
    *,
    started_at: str,
    seconds: float,
    complete: bool,
) -> Summary:
    """The class as a whole: its ``members``, and ``results`` of this run and of earlier ones.

    ``plan`` is this run's. Results may be in the order in which they came.
    """
    order = assignment_ids(members, course)
    results = sorted(results, key=lambda one: (order.index(one.assignment), one.students))
    statuses = [result.status for result in results if not result.outdated]
    started = {(name, one.assignment) for one in results for name in one.students}
    waiting = [one for one in members if one.status == OPEN and one.place not in started]
    fresh = [result.duration_s for result in results if not result.kept and result.duration_s]
    return Summary(
        course=course.title,
        grader=grader.__version__,
        started_at=started_at,
        complete=complete,
        found=plan.layouts,
        counts=Counts(
            students=len({member.person.student for member in members}),
            submissions=len(results) + len(waiting),
            graded=statuses.count("graded"),
            not_started=statuses.count("not-started"),
            not_gradable=statuses.count("not-gradable"),
            grading_failed=statuses.count("grading-failed"),
            open=sum(result.outdated for result in results) + len(waiting),
            kept=sum(result.kept and not result.outdated for result in results),
        ),
        durations=Durations(
            batch=round(seconds, 3),
            median=round(median(fresh), 3) if fresh else None,
            slowest=round(max(fresh), 3) if fresh else None,
        ),
        assignments=[
            _of_assignment(id, course, [one for one in results if one.assignment == id])
            for id in order
        ],
        misconceptions=_misconceptions(results),
        crashed=_named(one for one in results if one.crashed),
        timed_out=_named(one for one in results if one.timed_out),
        not_gradable=_named(one for one in results if one.status == "not-gradable"),
        grading_failed=_named(one for one in results if one.status == "grading-failed"),
        unassigned=[one.note for one in members if one.status in (NOT_RECOGNISED, MISSING)],
        late=[
            StudentNote(student=name, assignment=result.assignment, message=late(result))
            for result in results
            if result.days_late
            for name in result.students
        ],
        does_not_run=[
            StudentNote(student=name, assignment=result.assignment, message=result.does_not_run)
            for result in results
            if result.does_not_run
            for name in result.students
        ],
        copies=_copies(results),
        collisions=plan.collisions,
        left_out=plan.left_out,
        notes=[
            StudentNote(student=name, assignment=task.assignment, message=note)
            for task in plan.tasks
            for name in task.students
            for note in task.notes
        ],
        people=_people(members),
        lost=[one.note for one in members if one.status == LOST],
    )


def assignment_ids(members: Iterable[Member], course: Course) -> list[str]:
    """The assignments that were handed in, in the course's order; then what it has no more."""
    handed_in = {member.assignment for member in members if member.assignment}
    return [id for id in course.assignments if id in handed_in] + sorted(
        handed_in - course.assignments.keys()
    )


def _people(members: Sequence[Member]) -> list[ClassPerson]:
    """Each student, with what is said of them; several times where it differs by assignment."""
    found: dict[tuple[str, ...], ClassPerson] = {}
    for member in members:
        person = msgspec.structs.asdict(member.person)
        one = found.setdefault(tuple(person.values()), ClassPerson(**person, assignments=[]))
        if member.assignment:
            one.assignments.append(member.assignment)
    return [found[key] for key in sorted(found)]


def _of_assignment(id: str, course: Course, results: list[Result]) -> AssignmentSummary:
    earned = [
        result.earned for result in results if result.earned is not None for _ in result.students
    ]
    possible = [result.possible for result in results if result.possible]
    return AssignmentSummary(
        id=id,
        title=course.assignments[id].title if id in course.assignments else _title(id, results),
        possible=max(possible) if possible else None,
        submissions=sum(len(result.students) for result in results),
        scored=len(earned),
        mean=round(mean(earned), 2) if earned else None,
        median=float(median(earned)) if earned else None,
        lowest=min(earned) if earned else None,
        highest=max(earned) if earned else None,
    )


def _title(id: str, results: list[Result]) -> str:
    return next((result.title for result in results if result.title), id)


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


def _named(results: Iterable[Result]) -> list[StudentNote]:
    return [
        StudentNote(
            student=name,
            assignment=result.assignment,
            message=result.message,
            is_bug=result.is_bug,
        )
        for result in results
        for name in result.students
    ]
