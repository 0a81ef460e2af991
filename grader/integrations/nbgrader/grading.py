"""Grades notebooks instead of running them: scores, verdicts and comments for nbgrader."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Enum, Integer, Unicode

from grader.course.loading import course_assignment, load_course
from grader.integrations.nbgrader.cells import GradeCell, answer_id, cell_id, grade_cells
from grader.integrations.nbgrader.gradebook import built_cells
from grader.jobs import warm
from grader.jobs.protocol import Job
from grader.report import safe
from grader.report.files import encode, write_atomically
from grader.report.model import Report
from grader.report.recorded import html
from grader.report.text import render_checks
from grader.report.words import grade, notes

REPORTS = "reports"

_REPORT = "grader_report"
# The inputs are the same for everybody who is graded in one run.
_SEED = secrets.randbits(53)
# What Markdown takes as it is; all else is written as character references.
_WORDS = re.compile(r"[\w ,.;:?!()'\"=+/-]*")


class ChangedNotebook(Exception):
    """The gradebook's cells differ from the course's checks; the text says what to do."""


def report_path(root: str | Path, names: Mapping[str, str]) -> Path:
    """Where the instructor's report on a student's notebook lies."""
    folder = Path(root, REPORTS, names["assignment"], names["student"])
    return folder / f"{names['notebook']}.json"


class GradeAnswers(NbGraderPreprocessor):
    """Grades the submitted notebook in the sandbox, and scores each grade cell by its checks.

    No kernel starts. Notebooks that ``grade nbgrader build`` has not made are run by ``Execute``.
    What the grader cannot do is an error of nbgrader's for this student, and never a score.
    """

    course = Unicode(help="The folder of the course, with its private side.").tag(config=True)
    seed = Integer(None, allow_none=True, help="Repeats a report's inputs.").tag(config=True)
    sandbox: Enum[Any] = Enum(["auto", "require", "off"], "auto", help="As of `grade run`.").tag(
        config=True
    )

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write a score and the verdicts into each grade cell, over whatever it held."""
        names = resources["nbgrader"]
        if built_cells(names) is None:
            executed: tuple[Any, Any] = Execute(parent=self.parent)(nb, resources)
            return executed
        report = self._grade(names)
        graded = {
            cell.id: cell for cell in grade_cells(names["notebook"], report.for_student().checks)
        }
        _check_cells(nb, names["notebook"], graded)
        _save(report, report_path(self.parent.parent.coursedir.root, names))
        for cell in nb.cells:
            if (id := cell.metadata.get("nbgrader", {}).get("grade_id")) in graded:
                cell.execution_count = 1
                cell.outputs = [_score(graded[id])]
        resources[_REPORT] = report
        return nb, resources

    def _grade(self, names: Mapping[str, str]) -> Report:
        courses = self.parent.parent.coursedir
        folder = courses.format_path(
            courses.submitted_directory, names["student"], names["assignment"]
        )
        course = load_course(Path(self.course))
        assignment = course_assignment(course, names["notebook"])
        job = Job(
            submission=os.fsencode(Path(folder, f"{names['notebook']}.ipynb").absolute()),
            course=os.fsencode(course.root),
            assignment=assignment.id,
            seed=_SEED if self.seed is None else self.seed,
            sandbox=self.sandbox,
            beside=str(Path(folder).absolute()),  # which is one student's
        )
        return warm.grade(job, assignment.limits)


class CommentAnswers(NbGraderPreprocessor):
    """Writes what the answer as a whole came to, misconceptions first, into its cell's comment."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Set the automatic comment; an instructor's own stays as it is."""
        report = resources.get(_REPORT)
        if report is not None:
            names = resources["nbgrader"]
            with Gradebook(names["db_url"]) as book:
                comment = book.find_comment(
                    answer_id(names["notebook"]),
                    names["notebook"],
                    names["assignment"],
                    names["student"],
                )
                comment.auto_comment = comment_on(report)
                book.db.commit()
        return nb, resources


def _save(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, encode(report))


def comment_on(report: Report) -> str:
    """What a student is told of the answer as a whole, as Markdown."""
    words = [f"{grade(report)}.", report.message]
    for diagnosis in report.diagnosis:
        words.append(f"{diagnosis.message} {diagnosis.hint}")
    words += [f"Note: {note}" for note in notes(report)]
    return "\n\n".join(_markdown(text) for text in words if text)


def _markdown(text: str) -> str:
    text = safe.escape(text)
    return text if _WORDS.fullmatch(text) else safe.markdown(text)


def _score(cell: GradeCell) -> Any:
    """An output that nbgrader reads as a score, and shows as verdicts.

    It has to be a plain float: for anything else nbgrader gives full marks.
    """
    data = {
        "text/plain": str(float(cell.earned)),
        "text/html": html(lambda console: render_checks(cell.checks, console)),
    }
    return nbformat.v4.new_output("execute_result", data=data, execution_count=1)


def _check_cells(nb: Any, notebook: str, graded: Mapping[str, GradeCell]) -> None:
    """Raise ChangedNotebook where a cell would get a score that nothing has decided."""
    found = {}
    for cell in nb.cells:
        if utils.is_grade(cell):
            id = cell.metadata.nbgrader["grade_id"]
            if id.startswith(cell_id(notebook, "")):
                found[id] = float(cell.metadata.nbgrader["points"])
            elif not utils.is_solution(cell):
                raise ChangedNotebook(
                    f"{notebook}: the cell {id!r} is scored by running it, and no cell of this "
                    "notebook is run. Move it to a notebook of its own"
                )
    if found != {id: float(cell.points) for id, cell in graded.items()}:
        raise ChangedNotebook(
            f"{notebook}: the course's checks have changed since the assignment was "
            "generated. Run `grade nbgrader build --force` and `nbgrader generate_assignment` again"
        )
