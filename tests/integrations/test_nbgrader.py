"""nbgrader's own commands on a small course, with students who cheat and whose files are broken."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from grader.cli.main import grade
from grader.course.model import Limits
from grader.jobs import warm
from grader.jobs.protocol import Job

from ..toy import FILES, make_course

Cells = list[dict[str, Any]]

RIGHT = "def scale(x):\n    return x * 3 + 1"
UNSHIFTED = "def scale(x):\n    return x * 3"
STUCK = "def scale(x):\n    while True: pass"
FORGED = {
    "output_type": "execute_result",
    "execution_count": 1,
    "metadata": {},
    "data": {"text/plain": "5.0", "text/html": "<script>alert(1)</script>"},
}


def nbgrader(folder: Path, *words: str) -> str:
    """Run one of nbgrader's commands in the course's folder; what it said."""
    # nbgrader looks for its helpers where an activated environment has them.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def answer(cells: Cells) -> dict[str, Any]:
    return next(cell for cell in cells if cell["metadata"]["nbgrader"]["solution"])


def right(cells: Cells) -> None:
    answer(cells)["source"] = RIGHT


def forged(cells: Cells) -> None:
    answer(cells)["source"] = UNSHIFTED
    answer(cells)["metadata"]["nbgrader"] |= {"grade": True, "points": 100}
    for cell in cells:
        nbgrader = cell["metadata"]["nbgrader"]
        if nbgrader["grade"] and not nbgrader["solution"]:
            nbgrader["points"] = 1000
            cell["source"] = "6.0"
            cell["outputs"] = [FORGED]
    more = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "points": 50}
    for id in ("scale--extra", "scale--start", "../x"):
        metadata = {"nbgrader": more | {"grade_id": id}}
        cells.append({"cell_type": "code", "source": "", "metadata": metadata, "outputs": [FORGED]})
    cells.append({"cell_type": "code", "source": "", "metadata": {"nbgrader": "no"}, "outputs": []})


def rearranged(cells: Cells) -> None:
    kept = answer(cells) | {"source": RIGHT}
    cells[:] = [kept, kept | {"cell_type": "markdown"}, kept]


def stuck(cells: Cells) -> None:
    answer(cells)["source"] = STUCK


def misspelt(cells: Cells) -> None:
    answer(cells)["source"] = "def scale(x) return x"


def untouched(cells: Cells) -> None:
    pass


STUDENTS = {
    "ada": right,
    "bob": forged,
    "cyd": rearranged,
    "dan": stuck,
    "eve": misspelt,
    "fay": untouched,
}
BROKEN = {"gus": b'{"cells": [', "hal": b'{"cells": [{"cell_type": 7, "metadata": []}], "x": 1}'}
LINKED = "ida"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course after nbgrader's commands, with a notebook beside ours that is not ours."""
    limits = "[limits]\ncheck_seconds = 0.5\n"
    about = FILES["assignments/scale/assignment.toml"] + limits
    root = make_course(tmp_path_factory.mktemp("nb"), assignments_scale_assignment_toml=about)
    built = CliRunner().invoke(grade, ["nbgrader", "build", str(root)])
    assert built.exit_code == 0, built.output
    ordinary = nbformat.v4.new_notebook()
    metadata = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "points": 2}
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 2")
    cell.metadata.nbgrader = metadata | {"grade_id": "sum", "task": False}
    ordinary.cells = [cell]
    nbformat.write(ordinary, root / "source" / "scale" / "ordinary.ipynb")
    nbgrader(root, "generate_assignment", "scale")
    released = root / "release" / "scale"
    for student, change in STUDENTS.items():
        notebook = json.loads((released / "scale.ipynb").read_text())
        change(notebook["cells"])
        hand_in(root, student, json.dumps(notebook).encode())
    for student, data in BROKEN.items():
        hand_in(root, student, data)
    folder = root / "submitted" / LINKED / "scale"
    folder.mkdir(parents=True)
    (folder / "scale.ipynb").symlink_to(root / "submitted" / "ada" / "scale" / "scale.ipynb")
    (root / "submitted/ada/scale/ordinary.ipynb").write_bytes(
        (released / "ordinary.ipynb").read_bytes()
    )
    nbgrader(root, "autograde", "scale")
    nbgrader(root, "generate_feedback", "scale")
    exporter = "--exporter=grader.integrations.nbgrader.table.MisconceptionsExport"
    nbgrader(root, "export", exporter)
    return root


def hand_in(root: Path, student: str, data: bytes) -> None:
    folder = root / "submitted" / student / "scale"
    folder.mkdir(parents=True)
    (folder / "scale.ipynb").write_bytes(data)


@pytest.fixture(scope="module")
def table(course: Path) -> dict[str, dict[str, str]]:
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def cells_of(course: Path, student: str) -> dict[str, Any]:
    text = (course / "autograded" / student / "scale" / "scale.ipynb").read_text("utf-8")
    cells = nbformat.reads(text, as_version=4).cells
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}


def test_everybody_has_the_score_that_grade_run_gives(
    course: Path, table: dict[str, dict[str, str]]
) -> None:
    expected = {}
    for student in (*STUDENTS, *BROKEN, LINKED):
        job = Job(
            submission=str(course / "submitted" / student / "scale" / "scale.ipynb"),
            course=str(course),
            assignment="scale",
            seed=1,
        )
        expected[student] = warm.grade(job, Limits()).score.earned
    expected["ada"] += 2  # for the ordinary notebook, which nobody else handed in
    assert {student: float(row["score"]) for student, row in table.items()} == expected
    assert expected["ada"] == 8
    assert expected["cyd"] == 6
    assert 0 < expected["bob"] < 6
    assert {row["max_score"] for row in table.values()} == {"8.0"}


def test_the_table_says_what_was_misunderstood(table: dict[str, dict[str, str]]) -> None:
    assert table["bob"]["misconceptions"] == "not-shifted"
    assert table["ada"]["misconceptions"] == ""
    assert table["ada"]["status"] == "graded"
    assert table["fay"]["status"] == "not-started"
    assert {table[who]["status"] for who in (*BROKEN, LINKED)} == {"not-gradable"}


def test_forged_outputs_points_and_cells_are_gone(course: Path) -> None:
    source = json.loads((course / "source/scale/scale.ipynb").read_text("utf-8"))["cells"]
    known = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in source}
    for student in (*STUDENTS, *BROKEN, LINKED):
        cells = cells_of(course, student)
        assert cells.keys() == known.keys()
        for id, cell in cells.items():
            if not cell.metadata.nbgrader.solution:
                assert cell.source == known[id]["source"]
            truth = known[id]["metadata"]["nbgrader"]
            assert {key: cell.metadata.nbgrader[key] for key in truth} == truth
    assert "<script>" not in (course / "autograded/bob/scale/scale.ipynb").read_text("utf-8")


def test_feedback_has_verdicts_in_the_cells_and_the_misconception_as_comment(course: Path) -> None:
    page = (course / "feedback/bob/scale/scale.html").read_text("utf-8")
    assert "The one is missing. What is scale(0)?" in page
    assert "Values are right" in page
    assert "FAILED" in page
    assert "draw.normal" not in page
    syntax = (course / "feedback/eve/scale/scale.html").read_text("utf-8")
    assert "def scale(x) return x" in syntax
    broken = (course / "feedback/gus/scale/scale.html").read_text("utf-8")
    assert "This notebook could not be read." in broken
    assert "The notebook is broken" in broken


def test_instructors_find_each_report(course: Path) -> None:
    report = course / "reports" / "scale" / "bob" / "scale.json"
    shown = CliRunner().invoke(grade, ["show", str(report), "--show", "instructor"])
    assert "Fault: not-shifted" in shown.output


def test_what_students_get_holds_nothing_private(course: Path) -> None:
    for folder, _, names in os.walk(course / "release"):
        for name in names:
            text = Path(folder, name).read_text("utf-8")
            assert "x * 3" not in text
            assert "probe_values" not in text
            assert "reference.scale" not in text
    assert not (course / "release/scale/assignments/scale/scale.py").exists()


def test_building_again_writes_only_what_differs_and_only_when_forced(course: Path) -> None:
    notebook = course / "source" / "scale" / "scale.ipynb"
    before = notebook.read_bytes()
    notebook.write_bytes(before + b"\n")
    refused = CliRunner().invoke(grade, ["nbgrader", "build", str(course)])
    assert refused.exit_code == 2
    assert "--force overwrites it" in refused.output
    forced = CliRunner().invoke(grade, ["nbgrader", "build", str(course), "--force"])
    assert forced.output == f"Wrote {notebook}\n"
    assert notebook.read_bytes() == before


def test_a_stub_that_nbgrader_would_empty_is_refused(tmp_path: Path) -> None:
    root = make_course(tmp_path, assignments_scale_scale_py="def scale(x):\n    return 0\n")
    refused = CliRunner().invoke(grade, ["nbgrader", "build", str(root)])
    assert refused.exit_code == 2
    assert "found no line `raise NotImplementedError`" in refused.output
    assert not (root / "source").exists()
