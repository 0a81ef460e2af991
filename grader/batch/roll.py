"""The members of a class, from one batch into a folder to the next.

The reports are what was graded. The roll beside the journal says whose they are, and remembers what
has no report: what is still open, what no grading process survived, what is for no assignment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import msgspec

from grader.batch.errors import BatchError
from grader.batch.model import Result, StudentNote
from grader.batch.naming import Known
from grader.batch.plan import Plan, file_name
from grader.batch.reading import read_graded, report_files
from grader.batch.running import result_of
from grader.batch.store import STATE, Store, read_report
from grader.report import files
from grader.report.model import Person, Report

ROLL = f"{STATE}/class.json"

GRADED = ""
"""There is a report, or there was one."""
OPEN = "open"
FAILED = "grading-failed"
NOT_RECOGNISED = "not-recognised"
MISSING = "missing"
"""There is nothing gradable in what was handed in."""
LOST = "report-lost"
"""Somebody has taken the report away, or damaged it."""


class Member(Known, frozen=True, kw_only=True):
    """One student's work for one assignment, or for none if that cannot be told."""

    status: str = GRADED
    message: str = ""
    before: str = ""
    """Of what is open the digest of an earlier report: another one that lies there is the new."""

    @property
    def place(self) -> tuple[str, str]:
        return self.person.student, self.assignment

    @property
    def note(self) -> StudentNote:
        return StudentNote(
            student=self.person.student, assignment=self.assignment, message=self.message
        )


class _Class(msgspec.Struct):
    members: list[Member]


class ClassRoll:
    """The class in ``store``'s folder, as earlier batches left it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        try:
            data = (store.folder / ROLL).read_bytes()
            members = msgspec.json.decode(data, type=_Class).members
        except (OSError, msgspec.MsgspecError):
            members = _of_before(store.folder)
        self._members = {member.place: member for member in members}
        paths = {store.path(*place) for place in self._members}
        for path in report_files(store.folder):
            if path not in paths and (report := read_report(path)) is not None:
                member = _behind(report, path.parent.name, path.stem, unquote(path.stem))
                self._members[member.place] = member

    @property
    def members(self) -> list[Member]:
        return list(self._members.values())

    def expect(self, plan: Plan, *, only: bool = False) -> list[Member]:
        """Take in who is in ``plan``, before any of it is graded. Returns who else is in the class.

        With ``only`` they leave it, and their reports are put aside.
        """
        coming = [
            Member(
                person=person,
                assignment=task.assignment,
                status=OPEN,
                before=_digest(self._store.path(person.student, task.assignment)),
            )
            for task in plan.tasks
            for person in task.people
        ]
        coming += [
            Member(
                person=one.person,
                assignment="",
                status=MISSING if one.missing else NOT_RECOGNISED,
                message=one.message,
            )
            for one in plan.unassigned
        ]
        places = {member.place for member in coming}
        here = {student for student, _ in places}
        # What was for no assignment that could be told is not waited for, once something is.
        others = [
            member
            for place, member in self._members.items()
            if place not in places and (member.assignment or member.person.student not in here)
        ]
        self._members = {one.place: one for one in (*coming, *(() if only else others))}
        self.write()
        if only:
            for student, assignment in (member.place for member in others):
                self._store.remove(student, assignment)
        return others

    def settle(self, results: Iterable[Result]) -> list[Result]:
        """Note the ``results`` of this run. Returns those, and what earlier runs know of others."""
        found = list(results)
        done = set()
        for result in found:
            status = FAILED if result.status == FAILED else GRADED
            for student in result.students:
                done.add((student, result.assignment))
                self._note((student, result.assignment), status, result.message if status else "")
        kept: dict[tuple[str, str, bool], Result] = {}
        for place in sorted(self._members.keys() - done):
            path, member = self._store.path(*place), self._members[place]
            report = read_report(path)
            if report is not None:
                digest = _digest(path)
                outdated = member.status == OPEN and member.before == digest
                # A group's members have the same report.
                key = member.assignment, digest, outdated
                if key not in kept:
                    one = result_of([], member.assignment, report, kept=True)
                    kept[key] = msgspec.structs.replace(one, outdated=outdated)
                kept[key].students.append(place[0])
                if not outdated:
                    self._note(place, GRADED)
            elif member.status == FAILED:
                found.append(_failed(member))
            elif member.status == GRADED:
                self._note(place, LOST, "its report is lost or damaged")
        self.write()
        return [*found, *kept.values()]

    def _note(self, place: tuple[str, str], status: str, message: str = "") -> None:
        self._members[place] = msgspec.structs.replace(
            self._members[place], status=status, message=message, before=""
        )

    def write(self) -> None:
        """Write it beside the journal."""
        self._store.write(ROLL, files.encode(_Class(self.members)))


def _behind(report: Report, assignment: str, stem: str, student: str) -> Member:
    """Whose a report is, in a file of that name: who it says that is, or ``student``."""
    people = {file_name(person.student): person for person in report.submission.people}
    person = people.get(stem, Person(student=student, name=""))
    return Member(person=person, assignment=assignment)


def _of_before(folder: Path) -> list[Member]:
    """The class of a folder that has no roll, as its tables and its reports have it."""
    try:
        graded = read_graded(folder)
    except BatchError:
        return []
    without = [(one, FAILED) for one in graded.summary.grading_failed]
    without += [(one, NOT_RECOGNISED) for one in graded.summary.unassigned]
    members = [
        _behind(one.report, one.assignment, file_name(one.student), one.student)
        for one in graded.entries
    ]
    members += [
        Member(
            person=Person(student=one.student, name=""),
            assignment=one.assignment,
            status=status,
            message=one.message,
        )
        for one, status in without
    ]
    there = {member.person.student for member in members}
    return members + [
        Member(person=Person(student=student, name=""), assignment="", status=OPEN)
        for student in graded.students
        if student not in there
    ]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _failed(member: Member) -> Result:
    return Result(
        students=[member.person.student],
        assignment=member.assignment,
        status="grading-failed",
        message=member.message,
        kept=True,
    )
