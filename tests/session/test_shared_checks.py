"""Checks that suites share: a class of them, of which a suite says what is its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import grade as command
from grader.suite import SharedChecks, check, own

from ..toy import make_course

SHARED = """
import pytest
from grader.suite import SharedChecks, assert_close, check, probe

class Linear(SharedChecks):
    sizes = ()

    @check("values", points=1, title="Values are right", hint="What is scale(0)?")
    @pytest.mark.parametrize("n", [2], ids=["two"])
    def test_values(self, student, reference, draw, n):
        x = draw.normal(n)
        assert_close(student.scale(x), reference.scale(x), "output")

    @check("shape", points=2, title="One axis stays one axis")
    def test_shape(self, student, draw):
        assert student.scale(draw.normal(self.width)).shape == (self.width,)

    @check("purity", points=1, title="Left out")
    def test_left_out(self, student):
        raise AssertionError

    @probe(lambda suite: suite.sizes)
    def probe_values(self, student, draw, n):
        return {"output": student.scale(draw.normal(n))}
"""
SUITE = """
from support_linear import Linear
from grader.suite import assert_close, check, own

class TestScale(Linear):
    width = 7
    sizes = ({"n": 3}, {"n": 5})
    differences = {
        "values": own(points=3, title="Tripled, and one more", cases=("n", {"a": 3, "b": 4})),
        "left_out": None,
    }

    @check("gradient", points=2, title="A gradient reaches x")
    def test_gradient(self, student, draw):
        x = draw.normal(3, requires_grad=True)
        student.scale(x).sum().backward()
        assert x.grad is not None
"""


def grade(tmp_path: Path, code: str, *options: str) -> dict:
    course = make_course(tmp_path / "Ada's course", tests_hidden_test_scale_py=SUITE)
    (course / "tests/hidden/support_linear.py").write_text(SHARED)
    (tmp_path / "scale.py").write_text(code)
    arguments = ["run", str(tmp_path / "scale.py"), "--course", str(course), "--format", "json"]
    result = CliRunner().invoke(command, [*arguments, *options])
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


def test_a_suite_shares_checks_and_says_what_is_its_own(tmp_path: Path) -> None:
    report = grade(tmp_path, "def scale(x):\n    return x * 3 + 1\n")

    checks = {one["id"]: one for one in report["checks"]}
    assert list(checks) == ["shape", "example", "values", "gradient"]
    assert {one["status"] for one in report["checks"]} == {"passed"}
    assert (checks["values"]["points"], checks["values"]["title"]) == (3, "Tripled, and one more")
    assert checks["shape"]["points"] == 2


def test_probes_are_shared_too_and_name_a_misconception(tmp_path: Path) -> None:
    report = grade(tmp_path, "def scale(x):\n    return 2 * x + 1\n")

    assert [one["faults"] for one in report["diagnosis"]] == [["doubled"]]
    assert report["diagnosis"][0]["probes"] == 2
    failed = {one["id"]: one["hint"] for one in report["checks"] if one["status"] == "failed"}
    assert failed["values"] == "What is scale(0)?"


def test_an_audit_runs_them_likewise(tmp_path: Path) -> None:
    course = make_course(tmp_path, tests_hidden_test_scale_py=SUITE)
    (course / "tests/hidden/support_linear.py").write_text(SHARED)

    arguments = ["audit", "scale", "--course", str(course), "--seeds", "1"]

    result = CliRunner().invoke(command, arguments)

    assert "4 checks, 8 points" in result.output
    assert "3 of 3 caught" in result.output
    assert "0 of which lost points" in result.output


def test_a_difference_in_what_is_no_shared_check_is_refused() -> None:
    with pytest.raises(ValueError, match="differs in values, which is no check it inherits"):

        class TestScale(SharedChecks):
            differences = {"values": own(points=2)}


def test_the_shared_check_itself_stays_as_it_was() -> None:
    class Base(SharedChecks):
        @check("values", points=1, title="One")
        def test_values(self) -> None: ...

    class TestOther(Base):
        differences = {"values": own(title="Another")}

    titles = [one.test_values.__grader_check__.title for one in (Base, TestOther)]
    assert titles == ["One", "Another"]
