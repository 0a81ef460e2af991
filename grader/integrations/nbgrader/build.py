"""nbgrader's source notebooks, made from the assignments of a course."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from grader.course.loading import ASSIGNMENT_FILE, ASSIGNMENTS, COURSE_FILE
from grader.course.model import Assignment, Course
from grader.integrations.nbgrader.cells import GradeCell, answer_id, cell_id, grade_cells
from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.report.model import CheckResult, Visibility
from grader.report.words import count

CONFIG = "nbgrader_config.py"
HANDOUT = "README.md"

_START = """from grader.notebook import check

check("{}")"""
_UNFINISHED = re.compile(r"^([ \t]*)raise NotImplementedError\b.*$", re.M)


class BuildError(Exception):
    """The notebooks cannot be written; the text says what to do."""


def build(
    course: Course, assignments: Sequence[Assignment], *, destination: Path, overwrite: bool = False
) -> list[Path]:
    """Write ``source/ID/ID.ipynb`` for each of ``assignments``, and nbgrader's configuration.

    Beside each notebook comes what its public checks need. Returns the files that were written.
    Raises BuildError, before anything is written, where a file is there already and differs (unless
    ``overwrite``), and GradingError where the suites cannot be loaded.
    """
    files: dict[Path, bytes] = {}
    answers = [_answer(assignment) for assignment in assignments]
    suites = _checks(course, assignments)
    for assignment, answer, checks in zip(assignments, answers, suites, strict=True):
        folder = destination / "source" / assignment.id
        cells = _cells(assignment, answer, grade_cells(assignment.id, checks))
        notebook = json.dumps(_notebook(cells), indent=1, ensure_ascii=False)
        files[folder / f"{assignment.id}.ipynb"] = f"{notebook}\n".encode()
        for name, data in _beside(course, assignment):
            files[folder / name] = data
    config = destination / CONFIG
    if overwrite or not (config.is_file() and b"grader.integrations" in config.read_bytes()):
        # Once it is there, it is the instructor's, who may have added to it.
        files[config] = _config(course, destination).encode()
    changed = {
        path: data
        for path, data in files.items()
        if not path.is_file() or path.read_bytes() != data
    }
    present = [str(path) for path in changed if path.exists()]
    if present and not overwrite:
        raise BuildError(f"{present[0]} already exists and differs; --force overwrites it")
    for path, data in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return list(changed)


def _checks(course: Course, assignments: Sequence[Assignment]) -> list[list[CheckResult]]:
    """The checks of each assignment, as grading lists them where nothing was handed in."""
    with GradingProcess() as process, tempfile.TemporaryDirectory(prefix="grader-") as empty:
        jobs = [
            Job(
                submission=os.fsencode(empty),
                course=os.fsencode(course.root),
                assignment=assignment.id,
                seed=0,
            )
            for assignment in assignments
        ]
        return [process.grade(job).checks for job in jobs]


def _notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cells(assignment: Assignment, answer: str, graded: list[GradeCell]) -> list[dict[str, Any]]:
    total = sum(cell.points for cell in graded)
    about = (
        "**In this notebook** you write your answer into the code cell below this text; where "
        f"the text says `{assignment.file}`, that cell is meant. The cell after it runs the public "
        "checks. Each of the others stands for one kind of check, which together make "
        f"{count(total, 'point')}; those that are not public are run when you have handed in."
    )
    file = assignment.directory / HANDOUT
    handout = file.read_text("utf-8").rstrip() if file.is_file() else f"# {assignment.title}"
    return [
        _cell(cell_id(assignment.id, "handout"), "markdown", f"{handout}\n\n{about}"),
        _cell(answer_id(assignment.id), "code", answer, solution=True),
        _cell(cell_id(assignment.id, "start"), "code", _START.format(assignment.id)),
        *(
            _cell(cell.id, "code", _grading(assignment, cell), points=cell.points)
            for cell in graded
        ),
    ]


def _cell(
    id: str, kind: str, text: str, *, solution: bool = False, points: int | None = None
) -> dict[str, Any]:
    nbgrader: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": id,
        "grade": points is not None,
        "solution": solution,
        "locked": not solution,
        "task": False,
    }
    if points is not None:
        nbgrader["points"] = points
    cell = {"cell_type": kind, "id": id, "metadata": {"nbgrader": nbgrader}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _answer(assignment: Assignment) -> str:
    """The stub, with nbgrader's markers around what a student has to replace."""
    region = r"\1### BEGIN SOLUTION\n\g<0>\n\1### END SOLUTION"
    text, count = _UNFINISHED.subn(region, assignment.stub.read_text("utf-8").strip())
    if not count:
        raise BuildError(
            f"{assignment.stub}: found no line `raise NotImplementedError`; nbgrader would empty "
            "the whole cell. Put one where the student's code goes"
        )
    return text


def _grading(assignment: Assignment, cell: GradeCell) -> str:
    points = count(cell.points, "point")
    lines = [f"# {cell.family}: {points}"]
    for check in cell.checks:
        hidden = " (when you hand in)" if check.visibility is Visibility.HIDDEN else ""
        lines.append(f"#   {check.points}  {' '.join(check.title.split())}{hidden}")
    return "\n".join([*lines, f'check("{assignment.id}", family="{cell.family}")'])


def _beside(course: Course, assignment: Assignment) -> Iterable[tuple[str, bytes]]:
    """A course of this one assignment, by name, without its stub: public checks find it there.

    With the stub, the folder that a student hands in would hold two answers.
    """
    title = json.dumps(course.title, ensure_ascii=False)
    yield f"{ASSIGNMENTS}/{COURSE_FILE}", f'title = {title}\norder = ["{assignment.id}"]\n'.encode()
    for path in (assignment.directory / ASSIGNMENT_FILE, assignment.public_suite):
        yield f"{ASSIGNMENTS}/{assignment.id}/{path.name}", path.read_bytes()
    taken = (ASSIGNMENT_FILE, assignment.public_suite.name, HANDOUT, assignment.file)
    for path in sorted(assignment.directory.iterdir()):
        if path.is_file() and path.name not in taken and not path.name.startswith("."):
            yield path.name, path.read_bytes()


def _config(course: Course, destination: Path) -> str:
    way = json.dumps(os.path.relpath(course.root, destination))
    return f'''"""Settings of nbgrader, written once by `grade nbgrader build`: add your own."""

from pathlib import Path

from grader.integrations.nbgrader import configure

c = get_config()  # noqa: F821
configure(c, course=Path(__file__).resolve().parent / {way})
'''
