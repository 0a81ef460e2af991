"""What a batch has to grade: whose submission, for which assignment, under which name."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from grader.batch.bugs import is_of_machine, reported
from grader.batch.class_folder import ClassFolder, HandIn, holds_code
from grader.batch.errors import BatchError
from grader.batch.naming import Known, Names, key_of, person_of
from grader.batch.recognise import Found, read_path
from grader.batch.times import UNKNOWN, HandInTime, when_handed_in
from grader.course.loading import course_assignment
from grader.course.model import Course, CourseError
from grader.course.source import few
from grader.course.unreadable import is_unreadable
from grader.jobs.targets import assignments_of
from grader.report import safe
from grader.report.model import Person
from grader.report.words import count

MAX_NAME_BYTES = 120


class Task(msgspec.Struct, kw_only=True):
    """One submission to grade for one assignment."""

    people: list[Person]
    """Who handed it in; several for a group."""
    assignment: str
    submission: Path
    notes: list[str] = []
    """What the platform said, and which attempt was taken."""
    when: HandInTime | None = None
    """When it was handed in; None where that is not known, or does not matter."""
    refused: str = ""
    """Why it cannot be graded, where that is known already: what the student is told."""
    bug: str = ""
    """What the grader itself ran into when it looked at it, for those who mend it."""

    @property
    def students(self) -> list[str]:
        """The names of its people, which are unique in the class."""
        return [person.student for person in self.people]


class Unassigned(msgspec.Struct, kw_only=True):
    """A submission whose assignment cannot be told."""

    person: Person
    message: str
    missing: bool = False
    """Whether there is nothing in it that could be graded."""

    @property
    def student(self) -> str:
        return self.person.student


class Plan(msgspec.Struct, kw_only=True):
    """All tasks of a batch, and messages about how they were found."""

    layouts: list[str]
    """What each path was taken for."""
    tasks: list[Task]
    unassigned: list[Unassigned] = []
    left_out: list[str] = []
    """What lay there and belongs to nobody."""
    collisions: list[str] = []
    """Names that more than one submission has, and how they were told apart."""


class _Entry(msgspec.Struct, kw_only=True):
    source: int
    hand_in: HandIn
    submission: Path
    assignment: str
    notes: list[str] = []
    when: HandInTime | None = None
    refused: str = ""
    bug: str = ""


def make_plan(
    paths: Sequence[Path],
    course: Course,
    scratch: Path,
    *,
    assignment: str | None = None,
    pattern: str | None = None,
    layout: str | None = None,
    known: Iterable[Known] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Find out who handed in what at ``paths``; zips and loose files are laid out in ``scratch``.

    Only hand-ins for ``assignment`` are planned where it is given. Those who are ``known`` are
    called what they were before. ``say`` is told what is found as it is, since many files take a
    while to be looked into. Raises BatchError for a path that is not understood, CourseError for an
    assignment that there is not.
    """
    wanted = None if assignment is None else course_assignment(course, assignment).id
    unpacked = scratch / "unpacked"
    unpacked.mkdir(parents=True)
    class_folder = ClassFolder(scratch, list(course.assignments), unpacked)
    plan = Plan(layouts=[], tasks=[])
    entries: list[_Entry] = []
    for source, path in enumerate(paths):
        _check_readable(path)
        found = read_path(Path(os.path.abspath(path)), class_folder, pattern=pattern, layout=layout)
        students = {(one.student, one.id) for one in found.hand_ins}
        label = safe.name(str(path))
        plan.layouts.append(f"{label}: {found.layout}, {count(len(students), 'student')}")
        say(plan.layouts[-1])
        nameless = [one for one in found.hand_ins if _is_nameless(one, class_folder)]
        if nameless and wanted is None:
            say(
                f"{label}: no name says for which assignment {_these(nameless)} handed in: looking "
                "into the files (--assignment ID says so for all)"
            )
        plan.left_out += [f"{label}: {safe.name(name)}" for name in found.left_out]
        skipped: list[str] = []
        entries += _entries(found, source, course, class_folder, scratch, wanted, plan, skipped)
        if skipped:
            say(f"{label}: for other assignments, not graded now: {few(skipped)}")
    plan.left_out += class_folder.outside
    entries = _last_attempts(_with_an_assignment(entries, plan))
    _make_tasks(entries, plan, known)
    return plan


def _is_nameless(hand_in: HandIn, class_folder: ClassFolder) -> bool:
    """Whether it is files whose names do not say for which assignment they are."""
    names = [hand_in.assignment, *hand_in.files]
    return hand_in.folder is None and not any(map(class_folder.assignment_in, names))


def _these(hand_ins: Sequence[HandIn]) -> str:
    if len(hand_ins) == 1:
        return f"{safe.name(hand_ins[0].student)}'s work is"
    return f"{len(hand_ins)} submissions are"


def _check_readable(path: Path) -> None:
    """Raise BatchError for a folder that was named and cannot be listed."""
    try:
        if path.is_dir():
            os.scandir(path).close()
    except OSError as error:
        raise BatchError(f"{path}: cannot be read ({error.strerror})") from None


def _entries(
    found: Found,
    source: int,
    course: Course,
    class_folder: ClassFolder,
    scratch: Path,
    wanted: str | None,
    plan: Plan,
    skipped: list[str],
) -> list[_Entry]:
    entries = []
    for hand_in in found.hand_ins:
        named = class_folder.assignment_in(hand_in.assignment)
        base = _Entry(
            source=source,
            hand_in=hand_in,
            submission=hand_in.sources[0],
            assignment=wanted or named,
            refused=class_folder.problem_with(hand_in),
        )
        try:
            if (
                wanted is not None
                and named not in ("", wanted)
                and not _may_be_for(wanted, hand_in, found.hand_ins, course, scratch)
            ):
                skipped.append(f"{safe.name(hand_in.student)} ({named})")
                continue
            entries += _looked_into(base, course, scratch, plan)
        except (BatchError, CourseError):
            raise
        except Exception as error:
            if is_of_machine(error):
                raise
            entries.append(msgspec.structs.replace(base, bug=reported(error)))
    return entries


def _may_be_for(
    wanted: str,
    hand_in: HandIn,
    others: Sequence[HandIn],
    course: Course,
    scratch: Path,
) -> bool:
    """Whether a file is for ``wanted`` though its own name, "ann_heads.py", seems to say another.

    A name like that is the student's, or a part of somebody's name: what the file defines decides,
    unless the same student has another file.
    """
    if not hand_in.is_named_freely or any(
        one is not hand_in and one.student == hand_in.student for one in others
    ):
        return False
    found = _by_content(_laid_out(hand_in, scratch), course)
    return not found or wanted in found


def _looked_into(base: _Entry, course: Course, scratch: Path, plan: Plan) -> list[_Entry]:
    """An entry for each assignment that the hand-in is for; a single one without, if none tells."""
    hand_in = base.hand_in
    submission = _laid_out(hand_in, scratch)
    notes, when = list(hand_in.notes), None
    if course.late is not None:
        when = when_handed_in(hand_in, course.late.timezone)
        notes += [] if when else [UNKNOWN]
    ids = [base.assignment] if base.assignment else _by_content(submission, course)
    if not ids and (base.refused or is_unreadable(submission)):
        ids = [""]
    if not ids:
        plan.unassigned.append(_unassigned(hand_in))
    return [
        msgspec.structs.replace(
            base, submission=submission, assignment=id, notes=list(notes), when=when
        )
        for id in ids
    ]


def _unassigned(hand_in: HandIn) -> Unassigned:
    missing = not any(map(holds_code, hand_in.sources))
    message = (
        "there is no .py, .ipynb or .zip file in what was handed in"
        if missing
        else "which assignment is it for? Neither a name nor a definition tells"
    )
    return Unassigned(person=person_of(hand_in), message=message, missing=missing)


def _with_an_assignment(entries: list[_Entry], plan: Plan) -> list[_Entry]:
    """What cannot be looked into is for the assignment that all the rest is for, if that is one."""
    ids = {entry.assignment for entry in entries if entry.assignment}
    if len(ids) == 1:
        (only,) = ids
        return [msgspec.structs.replace(one, assignment=only) for one in entries]
    for entry in entries:
        if not entry.assignment:
            message = entry.bug or entry.refused or "it cannot be read"
            whose = person_of(entry.hand_in)
            plan.unassigned.append(Unassigned(person=whose, message=message))
    return [entry for entry in entries if entry.assignment]


def _by_content(submission: Path, course: Course) -> list[str]:
    return [one.id for one in assignments_of(submission, course)]


def _laid_out(hand_in: HandIn, scratch: Path) -> Path:
    """Where the hand-in lies as the rules of reading want it: alone, under the student's names.

    Beside the rest of the class its files could import those of others.
    """
    if hand_in.folder is not None:
        return hand_in.folder
    parent = scratch / "loose"
    parent.mkdir(exist_ok=True)
    folder = parent / str(len(os.listdir(parent))) / file_name(hand_in.student)
    for name, path in hand_in.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _place_file(path, target)
    only = list(hand_in.files)
    return folder / only[0] if len(only) == 1 and "/" not in only[0] else folder


def _place_file(path: Path, target: Path) -> None:
    """Link or copy a file; a link stays one, and is refused where submissions are read."""
    mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, target, follow_symlinks=False)


def _last_attempts(entries: list[_Entry]) -> list[_Entry]:
    """Of one student's attempts at one assignment the last, saying which were not taken."""
    groups: dict[tuple[object, ...], list[_Entry]] = defaultdict(list)
    for entry in entries:
        who = key_of(person_of(entry.hand_in), entry.assignment)
        groups[entry.source, who, entry.assignment].append(entry)
    kept = []
    for group in groups.values():
        last = max(entry.hand_in.attempt for entry in group)
        newest = [entry for entry in group if entry.hand_in.attempt == last]
        older = [entry for entry in group if entry.hand_in.attempt != last]
        older.sort(key=lambda entry: entry.hand_in.attempt)
        if older:
            took = ", ".join(_label(entry.hand_in) for entry in newest)
            left = ", ".join(_label(entry.hand_in) for entry in older)
            for entry in newest:
                entry.notes.append(f"The last attempt counts: took {took}, not {left}.")
        kept += newest
    return kept


def _label(hand_in: HandIn) -> str:
    return ", ".join(safe.name(path.name) for path in hand_in.sources)


def _make_tasks(entries: list[_Entry], plan: Plan, known: Iterable[Known]) -> None:
    """Make tasks of entries: no two students with one name, and one task for a group's work."""
    coming = [(person_of(entry.hand_in), entry.assignment) for entry in entries]
    names = Names(known, [*coming, *((one.person, "") for one in plan.unassigned)])
    tasks: dict[tuple[Path, str], Task] = {}
    for entry, (person, assignment) in zip(entries, coming, strict=True):
        task = tasks.setdefault(
            (entry.submission, assignment),
            Task(
                people=[],
                assignment=assignment,
                submission=entry.submission,
                when=entry.when,
                refused=entry.refused,
                bug=entry.bug,
            ),
        )
        task.people.append(names.call(person, assignment))
        notes = map(safe.name, entry.notes)
        task.notes += [note for note in notes if note not in task.notes]
    plan.tasks = list(tasks.values())
    plan.unassigned = [
        msgspec.structs.replace(one, person=names.call(one.person, "")) for one in plan.unassigned
    ]
    plan.collisions = names.collisions


def file_name(name: str) -> str:
    """``name`` as the name of a file: different names give different ones, on any system.

    Letters and digits of every script stay, all that could mean something is escaped as in URLs.
    """
    name = unicodedata.normalize("NFC", name)
    safe = "".join(
        char if char.isalnum() or char in " -_.()@'+" else _escaped(char) for char in name
    )
    if safe[:1] in ("", ".", " ", "-"):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}" if safe else "%"
    if safe[-1] in ". ":
        safe = f"{safe[:-1]}%{ord(safe[-1]):02X}"
    if len(safe.encode()) <= MAX_NAME_BYTES:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return safe.encode()[: MAX_NAME_BYTES - 13].decode("utf-8", "ignore") + "~" + digest


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
