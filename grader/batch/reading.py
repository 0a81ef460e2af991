"""Reads a finished batch from its folder."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from urllib.parse import unquote

import msgspec

from grader.batch.errors import BatchError
from grader.batch.model import Summary
from grader.batch.plan import file_name
from grader.report import safe
from grader.report.files import ReportError, decode
from grader.report.model import Report

GRADES = "grades.csv"
REPORTS = "reports"
SUMMARY = "summary.json"


def report_files(folder: Path) -> list[Path]:
    """The reports that a batch has kept in ``folder``, in order."""
    return sorted((folder / REPORTS).glob("*/*.json"))


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One student's report on one assignment."""

    student: str
    assignment: str
    report: Report


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch left in its folder."""

    summary: Summary
    students: list[str]
    """All of whom something was handed in, in the order of ``grades.csv``."""
    entries: list[Entry]
    unreadable: list[str]
    """Report files that are damaged, and what is wrong with each."""


def read_graded(folder: Path) -> Graded:
    """The batch in ``folder``.

    Raises:
        BatchError: there is none, or its summary cannot be read.
    """
    try:
        summary = msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Summary)
        rows = (folder / GRADES).read_text("utf-8")
    except FileNotFoundError as error:
        missing = Path(error.filename).name
        raise BatchError(
            f"{folder}: there is no {missing}; name the folder that `grade batch --output` wrote to"
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BatchError(
            f"{folder}: its tables cannot be read ({error}); grade the batch again"
        ) from None
    except OSError as error:
        raise BatchError(f"{folder}: {error.strerror}") from None
    # A table's cell can differ from the name, to be safe in a spreadsheet; a file's name does not.
    cells = {safe.cell(one.student): one.student for one in summary.people}
    listed = [cells.get(row[0], row[0]) for row in list(csv.reader(io.StringIO(rows)))[1:] if row]
    by_file = {file_name(name): name for name in listed}
    entries, unreadable = [], []
    for path in report_files(folder):
        try:
            report = decode(path.read_bytes())
        except (ReportError, OSError) as error:
            unreadable.append(f"{path.parent.name}/{path.name}: {error}")
            continue
        if isinstance(report, Report):
            student = by_file.get(path.stem, unquote(path.stem))
            entries.append(Entry(student=student, assignment=path.parent.name, report=report))
    students = {entry.student: None for entry in entries}
    reported = {file_name(name) for name in students} | {f"'{name}" for name in students}
    students |= {
        name: None for name in listed if file_name(name) not in reported and name not in reported
    }
    ordered = sorted(students, key=lambda name: (name.casefold(), name))
    return Graded(summary=summary, students=ordered, entries=entries, unreadable=unreadable)
