"""One case after another: what becomes of one has nothing to do with the next."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from grader.cli.main import grade

from ..toy import FILES, make_course

PUBLIC = (
    FILES["assignments/scale/test_public.py"]
    + """
import pytest

@check("numerics", points=1, title="Large numbers too")
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_large(student, size):
    assert_close(student.scale(X * size), X * size * 3 + 1, "output")
"""
)
HIDDEN = """
import pytest
import torch
from grader.suite import assert_close, check

@pytest.fixture(scope="module")
def inputs():
    return torch.arange(3.0)

@check("shape", points=2, title="The shape stays")
def test_shape(student, draw, tmp_path):
    assert tmp_path.is_dir() and student.scale(draw.normal(4)).shape == (4,)

@check("values", points=3, title="Values are right")
def test_values(student, inputs, request):
    assert request.node.name == "test_values"
    assert_close(student.scale(inputs), inputs * 3 + 1, "output")

@check("dtype", points=1, title="Only where there is a GPU")
@pytest.mark.skipif(True, reason="there is none")
def test_skipped(student):
    raise AssertionError
"""


def checks_of(tmp_path: Path, code: str) -> dict[str, dict]:
    course = make_course(
        tmp_path / "course",
        assignments_scale_test_public_py=PUBLIC,
        tests_hidden_test_scale_py=HIDDEN,
        solutions_scale_faults_toml="",
    )
    (tmp_path / "scale.py").write_text(code)
    arguments = ["run", str(tmp_path / "scale.py"), "--course", str(course), "--format", "json"]
    arguments += ["--show", "instructor"]
    result = CliRunner().invoke(grade, arguments)
    assert result.exit_code in (0, 1), result.output
    return {check["id"]: check for check in json.loads(result.stdout)["checks"]}


def test_a_check_that_fails_before_its_last_case_costs_the_next_file_nothing(
    tmp_path: Path,
) -> None:
    """pytest is not told of the cases that need not be run any more."""
    checks = checks_of(
        tmp_path, "def scale(x):\n    return x * 3 + (1 if x.abs().max() < 100 else 0)\n"
    )

    statuses = {id: check["status"] for id, check in checks.items()}
    assert statuses == {
        "shape": "passed",
        "skipped": "skipped",
        "example": "passed",
        "values": "passed",
        "large": "failed",
    }


def test_checks_may_use_what_pytest_has(tmp_path: Path) -> None:
    checks = checks_of(tmp_path, "def scale(x):\n    return x * 3 + 1\n")

    assert {check["status"] for check in checks.values()} == {"passed", "skipped"}
