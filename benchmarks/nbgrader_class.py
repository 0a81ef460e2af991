"""A class in nbgrader: its own commands with this project's grading, and with a kernel for each.

Exits with 1 if a score differs from that of ``grade run``, or a student has none.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from measuring import ROOT, plain_pytest, print_table

from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Options
from grader.jobs.targets import Target
from grader.report.files import decode

ASSIGNMENTS = ("attention", "heads", "gqa")
EXPORTER = "--exporter=grader.integrations.nbgrader.table.MisconceptionsExport"

Notebook = dict[str, Any]
Change = Callable[[Notebook], "Notebook | bytes"]


def main() -> int:
    """Build, hand in, run nbgrader's commands, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--stock", type=int, default=4, help="submissions to run with a kernel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nbgrader-") as folder:
        ours, stock = Path(folder, "ours"), Path(folder, "stock")
        built = [sys.executable, "-m", "grader.cli", "nbgrader", "build", str(ROOT)]
        built += [word for id in ASSIGNMENTS for word in ("--assignment", id)]
        subprocess.run([*built, "--output", str(ours)], check=True, stdout=subprocess.DEVNULL)
        taken = {}
        for id in ASSIGNMENTS:
            seconds(ours, "generate_assignment", id)
            kinds = hand_in(ours, id, options.students)
            taken[id] = seconds(ours, "autograde", id) / options.students
            seconds(ours, "generate_feedback", id)
        seconds(ours, "export", EXPORTER)
        wrong = {id: differences(ours, id, options.students) for id in ASSIGNMENTS}
        plain = {
            id: kernel_for_each(stock / id, id, options.stock, reference(id)) for id in ASSIGNMENTS
        }
    table = [
        [
            id,
            f"{options.students - len(wrong[id])} of {options.students}",
            f"{taken[id]:.2f}",
            f"{plain[id]:.2f}",
            f"{plain[id] / taken[id]:.1f}",
        ]
        for id in ASSIGNMENTS
    ]
    print_table(
        ["assignment", "scores as by `grade run`", "s each", "s each in a kernel", "times faster"],
        table,
    )
    print(f"\n{options.students} students, whose notebooks are: {', '.join(kinds)}.")
    print(f"In a kernel: {options.stock} right submissions, the same checks, nbgrader as it comes.")
    for problem in [problem for id in ASSIGNMENTS for problem in wrong[id]]:
        print(f"WRONG: {problem}")
    return 1 if any(wrong.values()) else 0


def reference(id: str) -> Path:
    """The solution of an assignment."""
    return ROOT / "solutions" / id / f"{id}.py"


def seconds(folder: Path, *words: str) -> float:
    """How long one of nbgrader's commands takes; raises RuntimeError where it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )
    taken = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"nbgrader {' '.join(words)} failed\n{done.stderr}")
    return taken


def hand_in(folder: Path, id: str, students: int) -> list[str]:
    """Submit a notebook for each student, honest and hostile ones in turns; which kinds."""
    released = (folder / "release" / id / f"{id}.ipynb").read_bytes()
    answers = [*sorted((ROOT / "solutions" / id / "accepted").glob("*.py"))[:3]]
    answers += sorted((ROOT / "tests/submissions" / id / "wrong").glob("*.py"))[:5]
    honest = [(path.stem, answered(path.read_text("utf-8"))) for path in answers]
    kinds = [kind for pair in zip_longest(honest, HOSTILE.items()) for kind in pair if kind]
    for number in range(students):
        made = kinds[number % len(kinds)][1](json.loads(released))
        data = made if isinstance(made, bytes) else json.dumps(made).encode()
        write(folder / "submitted" / f"student{number:02}" / id / f"{id}.ipynb", data)
    return [name for name, _ in kinds[:students]]


def write(path: Path, data: bytes) -> None:
    """Write a file in folders that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def answer(notebook: Notebook) -> Notebook:
    """The cell that is to be filled in."""
    cells: list[Notebook] = notebook["cells"]
    return next(cell for cell in cells if cell["metadata"]["nbgrader"]["solution"])


def answered(text: str) -> Change:
    """The notebook, with ``text`` as its answer."""

    def change(notebook: Notebook) -> Notebook:
        answer(notebook)["source"] = text
        return notebook

    return change


def forged(notebook: Notebook) -> Notebook:
    """Full marks in every output, and points without end."""
    for cell in notebook["cells"]:
        if cell["metadata"]["nbgrader"]["grade"]:
            points = str(float(cell["metadata"]["nbgrader"]["points"]))
            output = {"output_type": "execute_result", "data": {"text/plain": points}}
            cell["outputs"] = [output | {"metadata": {}, "execution_count": 1}]
            cell["source"] = points
            cell["metadata"]["nbgrader"]["points"] = 1000
    return notebook


def stripped(notebook: Notebook) -> Notebook:
    """All cells but the answer deleted, and that twice."""
    return notebook | {"cells": [answer(notebook)] * 2}


def unmarked(notebook: Notebook) -> Notebook:
    """Metadata that is no metadata of nbgrader's."""
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"]["nbgrader"] = [None, "x", {"grade": "yes"}, {"grade_id": []}][number % 4]
    return notebook


HOSTILE: dict[str, Change] = {
    "untouched": lambda notebook: notebook,
    "forged outputs": forged,
    "cells deleted and doubled": stripped,
    "metadata broken": unmarked,
    "broken JSON": lambda notebook: json.dumps(notebook).encode()[:-40],
    "empty file": lambda notebook: b"",
    "not a notebook": lambda notebook: b'["cells"]',
    "bytes": lambda notebook: secrets.token_bytes(4096),
    "nested too deeply": lambda notebook: b"[" * 100_000,
    "syntax error": answered("def split_heads(x) return x"),
    "endless loop": answered("while True:\n    pass"),
    "ends the process": answered("import os\nos._exit(0)"),
}


def differences(folder: Path, id: str, students: int) -> list[str]:
    """Whose scores of an assignment are not those of ``grade run``, in words."""
    with (folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        scores = {
            row["student_id"]: row["score"]
            for row in csv.DictReader(file)
            if row["assignment"] == id
        }
    problems = []
    with GradingProcess() as process:
        for number in range(students):
            name = f"student{number:02}"
            path = folder / "submitted" / name / id / f"{id}.ipynb"
            target = Target(submission=path, assignment=id, course=ROOT, course_title="")
            alone = process.grade(target.job(Options())).score
            found = float(scores.get(name, "nan"))
            report = decode((folder / "reports" / id / name / f"{id}.json").read_bytes())
            if not found == alone.earned == report.score.earned:
                problems.append(f"{name}, {id}: {found} in nbgrader, {alone.earned} alone")
    return problems


def kernel_for_each(folder: Path, id: str, students: int, submission: Path) -> float:
    """Seconds a submission that nbgrader takes as it comes: it runs the same checks in a kernel."""
    text = submission.read_text("utf-8")
    made = notebook([text, checking(id, text)])
    for part, cell in zip(("answer", "checks"), made["cells"], strict=True):
        graded = part == "checks"
        marks = {"schema_version": 3, "grade_id": part, "grade": graded, "locked": graded}
        marks |= {"solution": not graded, "task": False} | ({"points": 1} if graded else {})
        cell["metadata"]["nbgrader"] = marks
    data = json.dumps(made).encode()
    write(folder / "source" / id / f"{id}.ipynb", data)
    (folder / "nbgrader_config.py").write_text("c = get_config()\nc.Execute.timeout = 300\n")
    seconds(folder, "generate_assignment", id)
    for number in range(students):
        write(folder / "submitted" / f"student{number:02}" / id / f"{id}.ipynb", data)
    return seconds(folder, "autograde", id) / students


def checking(id: str, text: str) -> str:
    """Python that runs an assignment's checks on the submission ``text`` by plain pytest."""
    arguments = plain_pytest("answer.py", id)[3:]
    paths = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests/hidden")]
    return (
        "import os, sys, pytest\n"
        f'open("answer.py", "w").write({text!r})\n'
        f"sys.path[:0] = {paths!r}\n"
        'os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"\n'
        f"arguments = {arguments!r}\n"
        "there = [os.path.abspath(word) if word == 'answer.py' else word for word in arguments]\n"
        f"os.chdir({str(ROOT)!r})\n"
        "assert pytest.main(there) == 0"
    )


def notebook(sources: Sequence[str]) -> Notebook:
    """A notebook of code cells that have not been run."""
    cells: list[Notebook] = [
        {
            "cell_type": "code",
            "id": f"cell{number}",
            "source": source,
            "outputs": [],
            "execution_count": None,
            "metadata": {},
        }
        for number, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return {"cells": cells} | about


if __name__ == "__main__":
    sys.exit(main())
