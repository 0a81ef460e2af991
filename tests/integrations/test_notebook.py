"""What a student sees who calls ``check`` in a notebook, in a script, or elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from grader.notebook.needed import only_needed

from ..toy import make_course


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_course(tmp_path_factory.mktemp("course"))


class Kernel:
    """A real kernel in the course's folder; ``run`` is one cell."""

    def __init__(self, folder: Path) -> None:
        self.notebook = nbformat.v4.new_notebook()
        self.client = nbclient.NotebookClient(
            self.notebook, timeout=120, resources={"metadata": {"path": str(folder)}}
        )

    def run(self, source: str) -> Any:
        """The cell's outputs: what it shows as HTML and as text, or its error's name and value."""
        cell = nbformat.v4.new_code_cell(source)
        self.notebook.cells.append(cell)
        try:
            self.client.execute_cell(cell, len(self.notebook.cells) - 1)
        except nbclient.exceptions.CellExecutionError as error:
            return f"{error.ename}: {error.evalue}"
        return cell.outputs[-1].get("data", cell.outputs[-1]) if cell.outputs else {}


@pytest.fixture(scope="module")
def kernel(course: Path) -> Iterator[Kernel]:
    kernel = Kernel(course)
    with kernel.client.setup_kernel():
        kernel.run("from grader.notebook import check")
        yield kernel


def test_a_class_of_cells_is_checked_with_all_that_it_needs(kernel: Kernel) -> None:
    kernel.run("import math as m\nprint('a cell that is not needed')\n1 +")
    kernel.run("import torch\nfrom math import *\nTHREE = 2\nTHREE = 3")
    kernel.run("%%time\ndef thrice(x): return x * THREE\n!true")
    kernel.run("def scale(x):\n    raise RuntimeError('an earlier try')")
    kernel.run("def scale(x):\n    return thrice(x) + floor(m.e) - 1")
    assert "RuntimeError" not in str(kernel.run("import math as m"))
    shown = kernel.run('check("scale", scale)')
    assert "Scale and shift: 6 of 6 points" in shown["text/plain"]
    assert "Scale and shift: 6 of 6 points" in shown["text/html"]
    assert "Scale and shift: 6 of 6 points" in kernel.run('check("scale")')["text/plain"]


def test_what_is_wrong_is_said_with_the_cell_and_as_text_alone(kernel: Kernel) -> None:
    kernel.run("def scale(x):\n    raise ValueError('<script>alert(1)</script>')")
    number = len(kernel.notebook.cells)
    shown = kernel.run('check("scale", scale)')
    assert "Scale and shift: 0 of 6 points" in shown["text/plain"]
    assert f"cell {number}, line 2" in shown["text/plain"].replace("\n", " ")
    assert "&lt;script&gt;" in shown["text/html"]
    assert "<script>" not in shown["text/html"]


def test_another_name_will_do_and_one_family_can_be_shown_alone(kernel: Kernel) -> None:
    kernel.run("def mine(x):\n    return x.detach() * 3 + 1")
    shown = kernel.run('check("scale", mine, family="gradient")')["text/plain"]
    assert "Gradients are right" in shown
    assert "Values are right" not in shown
    assert "This is not checked here" in str(kernel.run('check("scale", mine, family="cache")'))


def test_what_is_imported_is_checked_by_its_file_and_brings_its_modules(
    kernel: Kernel, course: Path
) -> None:
    (course / "parts.py").write_text("def three(x):\n    return 3 * x\n")
    (course / "whole.py").write_text("from parts import three\ndef scale(x): return three(x) + 1\n")
    shown = kernel.run('from whole import scale\ncheck("scale", scale)')["text/plain"]
    assert "6 of 6 points" in shown
    shown = kernel.run('from parts import three\ndef scale(x): return three(x)\ncheck("scale")')
    assert "The one is missing." in shown["text/plain"]


def test_in_nbgrader_it_fails_a_validation_and_gives_no_scores(kernel: Kernel) -> None:
    kernel.run("import os\ndef scale(x): return 3 * x")
    kernel.run('os.environ["NBGRADER_EXECUTION"] = "validate"')
    assert "AssertionError: not all checks passed" in kernel.run('check("scale", scale)')
    kernel.run('os.environ["NBGRADER_EXECUTION"] = "autograde"')
    assert "CheckError" in kernel.run('check("scale", scale)')
    kernel.run('del os.environ["NBGRADER_EXECUTION"]')


def test_what_cannot_be_checked_is_an_error_that_says_what_to_do(kernel: Kernel) -> None:
    kernel.run("exec('def unseen(x): return x')")
    assert "CheckError: the source of unseen" in kernel.run('check("scale", unseen)')
    assert "found no assignment 'scales'" in kernel.run('check("scales")')
    kernel.run("del scale")
    assert "scale is not defined here yet" in kernel.run('check("scale")')


def test_a_script_is_checked_by_its_file(course: Path) -> None:
    script = course / "mine.py"
    script.write_text(
        "from grader.notebook import check\n"
        "def scale(x):\n    return 2 * x + 1\n"
        'print(repr(check("scale", scale)))\n'
    )
    run = [sys.executable, str(script)]
    done = subprocess.run(run, cwd=course, capture_output=True, text=True, timeout=120)
    assert "Your result is doubled where it has to be tripled." in done.stdout, done.stderr


def test_the_prompt_of_python_keeps_no_source(course: Path) -> None:
    typed = 'def scale(x): return x\nfrom grader.notebook import check\ncheck("scale")\n'
    run = [sys.executable, "-c", f"exec({typed!r})"]
    done = subprocess.run(run, cwd=course, capture_output=True, text=True, timeout=120)
    assert "Put it into a file and import that" in done.stderr


ALL = None


@pytest.mark.parametrize(
    ("cells", "needed"),
    [
        (["a = 1\nb = 2", "def f(): return a"], ["a = 1\n", "def f(): return a"]),
        (["class A: x = 1", "class A(A): y = 2", "f = A"], ALL),
        (["def f(): pass", "f = g(f)", "def g(f): return f"], ALL),
        (["def f(): pass", "f.limit = 3", "h.limit = 4"], ["def f(): pass", "f.limit = 3", ""]),
        (["n = 1", "if n:\n  def f(): pass"], ALL),
        (["try:\n  import f\nexcept ImportError:\n  f = None"], ALL),
        (["@d\ndef f(): pass\nprint(1)", "d = 1"], ["@d\ndef f(): pass\n", "d = 1"]),
        (["f = 0", "f += 1"], ALL),
        (["f = 0", "def f(): return f"], ["", "def f(): return f"]),
        (["from x import *", "(", "f = y"], ["from x import *", "", "f = y"]),
    ],
)
def test_only_what_is_needed_is_taken(cells: list[str], needed: list[str] | None) -> None:
    assert only_needed(cells, ["f"]) == (needed or cells, [])
    assert only_needed(cells, ["unknown"])[1] == ["unknown"]
