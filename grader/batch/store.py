"""Reports on the disk, and which of them are still valid."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import msgspec

import grader
from grader.batch.class_folder import normal
from grader.batch.errors import BatchError
from grader.batch.plan import Task, file_name
from grader.batch.reading import REPORTS
from grader.course.loading import suite_digest
from grader.course.model import Assignment, Course
from grader.course.submission import fingerprint, pack_refusal
from grader.jobs.protocol import Options
from grader.processes.locks import lock
from grader.report.files import ReportError, decode, encode, write_atomically
from grader.report.model import Report

JOURNAL = "journal.jsonl"
STATE = ".batch"
SCRATCH = "scratch"
EARLIER = "earlier"
"""Where reports go that something else is in the place of; the digest in their names keeps all."""


class _Line(msgspec.Struct, kw_only=True):
    """That a report was written: its place, what it was made from, and what it looked like."""

    file: str
    key: str
    digest: str


class Store:
    """An output folder: ``reports/ASSIGNMENT/STUDENT.json``, and a journal of what made them.

    A line of the journal is written after its report. Whatever ends the batch, a report either has
    its line or is made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.abspath(folder))
        self.scratch = self.folder / STATE / SCRATCH
        self._known: dict[str, _Line] = {}
        try:
            self.scratch.parent.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / STATE / "lock").open("wb")
            lock(self._lock.fileno())
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.scratch.mkdir()
            self._read_journal()
        except BlockingIOError:
            raise BatchError(f"{folder}: another batch is writing there") from None
        except (OSError, ReportError) as error:
            raise BatchError(f"{folder}: cannot be written to ({error})") from None

    def _read_journal(self) -> None:
        path = self.folder / STATE / JOURNAL
        lines = path.read_bytes().splitlines() if path.exists() else []
        for line in lines:
            try:
                known = msgspec.json.decode(line, type=_Line)
            except msgspec.DecodeError:
                continue  # the one that was being written when the batch was killed
            self._known[known.file] = known
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in self._known.values())
        write_atomically(path, data)
        self._journal = path.open("ab")

    def path(self, student: str, assignment: str) -> Path:
        """The path of a student's report for an assignment."""
        return self.folder / REPORTS / assignment / f"{file_name(student)}.json"

    def kept(self, task: Task, key: str) -> Report | None:
        """The report that was made under ``key`` for all of the task's students, if it is whole."""
        report: Report | None = None
        for student in task.students:
            known = self._known.get(self._name(self.path(student, task.assignment)))
            if known is None or known.key != key:
                return None
            found = self.report(student, task.assignment)
            if found is None:
                return None
            report = report or found
        return report

    def report(self, student: str, assignment: str) -> Report | None:
        """A student's report for an assignment, if it is there, and as it was written."""
        path = self.path(student, assignment)
        known = self._known.get(self._name(path))
        try:
            whole = known and hashlib.sha256(path.read_bytes()).hexdigest() == known.digest
        except OSError:
            return None
        return read_report(path) if whole else None

    def save(self, task: Task, key: str, report: Report) -> None:
        """Write the report for each of its students, then say so in the journal."""
        data = encode(report)
        for student in task.students:
            self._put(self.path(student, task.assignment), key, data)

    def rewrite(self, student: str, report: Report) -> None:
        """Put a student's report in the place of one that was made of the same."""
        path = self.path(student, report.assignment.id)
        self._put(path, self._known[self._name(path)].key, encode(report))

    def _put(self, path: Path, key: str, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
        line = _Line(file=self._name(path), key=key, digest=hashlib.sha256(data).hexdigest())
        self._known[line.file] = line
        self._journal.write(msgspec.json.encode(line) + b"\n")
        self._journal.flush()

    def refusal(self, task: Task, key: str) -> Path:
        """A file for the grading process that says why a task's submission cannot be read."""
        folder = self.scratch / "refused" / key
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(normal(task.submission.name))
        path.write_bytes(pack_refusal(task.refused))
        return path

    def set_aside(self, student: str, assignment: str) -> str:
        """Copy a student's report out of the way of another; returns where in the folder it is."""
        path = self.path(student, assignment)
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()[:12]
        name = f"{EARLIER}/{assignment}/{path.stem}.{digest}.json"
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / name, data)
        return name

    def remove(self, student: str, assignment: str) -> None:
        """Take away a student's report, if there is one; it is set aside first."""
        path = self.path(student, assignment)
        if path.exists():
            self.set_aside(student, assignment)
            path.unlink()
        self._known.pop(self._name(path), None)

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the folder, whole or not at all."""
        write_atomically(self.folder / name, data)

    def close(self) -> None:
        """Take away what was only needed while grading, and let the next batch in."""
        self._journal.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._lock.close()

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)


def read_report(path: Path) -> Report | None:
    """The report at ``path``; None if there is none."""
    try:
        found = decode(path.read_bytes())
    except (OSError, ReportError):
        return None
    return found if isinstance(found, Report) else None


class Keys:
    """Digests of what a report depends on: equal keys mean equal reports, except for the seed."""

    def __init__(self, course: Course, options: Options) -> None:
        self._course = course
        self._options = options
        self._suites: dict[str, str] = {}

    def of(self, task: Task) -> str:
        """The key of a task. Raises CourseError where a suite cannot be read."""
        assignment = self._course.assignments[task.assignment]
        parts = [
            grader.__version__,
            task.assignment,
            self._suite(assignment),
            msgspec.to_builtins(assignment.limits),
            msgspec.to_builtins(self._options),
            self._submission(task, assignment),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _suite(self, assignment: Assignment) -> str:
        if assignment.id not in self._suites:
            self._suites[assignment.id] = suite_digest(assignment)
        return self._suites[assignment.id]

    def _submission(self, task: Task, assignment: Assignment) -> str:
        if task.refused:
            return f"not gradable: {task.submission.name} {task.refused}"
        earlier, later = self._course.around(assignment)
        return fingerprint(
            task.submission, assignment, earlier=earlier, later=later, chain=self._options.chain
        )
