"""Files that import the same student's files for earlier assignments: ``grade run --chain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.main import grade as command

from ..toy import make_course

TWICE = {
    "assignments/twice/assignment.toml": """
title = "Scale and shift twice"
forbidden = ["torch.addcmul"]
[exports.twice]
arguments = ["x"]
returns = ["output"]
""",
    "assignments/twice/twice.py": "def twice(x):\n    raise NotImplementedError\n",
    "assignments/twice/test_public.py": """
import torch
from grader.suite import assert_close, check

@check("values", points=1, title="The example is right")
def test_example(student):
    assert_close(student.twice(torch.tensor([0.0, 1.0])), torch.tensor([4.0, 13.0]), "output")
""",
    "solutions/twice/twice.py": "def twice(x):\n    return 3 * (3 * x + 1) + 1\n",
    "tests/hidden/test_twice.py": """
from grader.suite import assert_not_forbidden, check

@check("policy", points=2, title="Nothing forbidden is used")
def test_policy(forbidden_uses):
    assert_not_forbidden(forbidden_uses)

@check("shape", points=3, title="The shape stays")
def test_shape(student, draw):
    x = draw.normal(4, 2)
    assert student.twice(x).shape == x.shape
""",
}
RIGHT = "def scale(x):\n    return 3 * x + 1\n"
DOUBLED = "def scale(x):\n    return 2 * x + 1\n"
CHAINED = "from scale import scale\n\n\ndef twice(x):\n    return scale(scale(x))\n"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = make_course(
        tmp_path / "course",
        assignments_course_toml='title = "Toys"\norder = ["scale", "twice"]\n',
    )
    for name, text in TWICE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.fixture
def run(monkeypatch, warm, course, tmp_path):
    """Runs ``grade run`` on a folder of files: the reports by assignment, and what it said."""

    def run_on(files: dict[str, str], *options: str) -> tuple[dict[str, dict], str]:
        folder = tmp_path / "handed-in"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        saved = tmp_path / "report.json"
        arguments = ["run", str(folder), "--course", str(course), "--output", str(saved), *options]
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0, result.output
        report = json.loads(saved.read_bytes())
        reports = report.get("reports", [report])
        return {one["assignment"]["id"]: one for one in reports}, result.output

    return run_on


def points(report: dict) -> tuple[int, int]:
    return report["score"]["earned"], report["score"]["possible"]


@pytest.mark.parametrize("folders", [("", ""), ("scale/", "twice/")], ids=["flat", "as-in-course"])
def test_an_earlier_file_is_imported_and_graded_by_itself(run, folders):
    first, second = folders
    files = {f"{first}scale.py": RIGHT, f"{second}twice.py": CHAINED}

    reports, _ = run(files, "--chain")

    assert points(reports["twice"]) == (6, 6)
    assert points(reports["scale"]) == (6, 6)
    assert reports["twice"]["submission"]["uses"] == ["scale"]
    assert reports["scale"]["submission"]["uses"] == []


def test_without_it_the_import_is_explained(run):
    reports, said = run({"scale.py": RIGHT, "twice.py": CHAINED})

    assert points(reports["scale"]) == (6, 6)
    assert points(reports["twice"]) == (2, 6)
    lost = [check for check in reports["twice"]["checks"] if check["status"] != "passed"]
    assert all("Add --chain to import your own scale.py" in c["message"] for c in lost)
    assert "--chain" in said


def test_open_points_of_what_is_imported_are_pointed_out(run):
    reports, said = run({"scale.py": DOUBLED, "twice.py": CHAINED}, "--chain")

    assert reports["scale"]["score"]["earned"] < 6
    (lost,) = [check for check in reports["twice"]["checks"] if check["status"] != "passed"]
    assert lost["open_imports"] == reports["twice"]["open_imports"] == ["scale"]
    words = " ".join(said.split())
    assert "Note: Uses your scale.py, which has open points. Fix that first." in words
    assert f"{lost['message']} Uses your scale.py, which has open points." in words
    kept = [check for check in reports["twice"]["checks"] if check["status"] == "passed"]
    assert not any(check["open_imports"] for check in kept)


def test_what_is_not_imported_is_not_pointed_out(run):
    files = {"scale.py": DOUBLED, "twice.py": "def twice(x):\n    return x\n"}

    reports, said = run(files, "--chain")

    assert points(reports["twice"]) == (5, 6)
    assert "open points" not in said


def test_errors_are_placed_in_the_imported_file(run):
    files = {"scale/scale.py": "def scale(x):\n    return y\n", "twice/twice.py": CHAINED}

    reports, _ = run(files, "--chain")

    places = {
        (check["location"]["file"], check["location"]["line"])
        for check in reports["twice"]["checks"]
        if check["status"] == "error"
    }
    assert places == {("scale/scale.py", 2)}


def test_an_untouched_stub_is_named(run):
    stub = "def scale(x):\n    raise NotImplementedError\n"

    reports, _ = run({"scale.py": stub, "twice.py": CHAINED}, "--chain")

    lost = [check for check in reports["twice"]["checks"] if check["status"] != "passed"]
    assert {check["status"] for check in lost} == {"error"}
    assert lost[0]["message"].startswith("Your scale.py, which this imports, is an untouched stub.")


def test_what_is_forbidden_is_forbidden_in_the_imported_file_too(run):
    used = "import torch\n\ndef scale(x):\n    return torch.addcmul(x, x, 0 * x + 2 / x) + 1\n"

    reports, _ = run({"scale.py": used, "twice.py": CHAINED}, "--chain")

    (policy,) = [check for check in reports["twice"]["checks"] if check["family"] == "policy"]
    assert policy["status"] == "failed"
    assert "scale.py" in policy["message"] + policy["detail"]


def test_a_helper_that_only_shares_the_name_is_a_helper(run):
    helper = "FACTOR = 3\n"
    own = "from scale import FACTOR\n\n\ndef twice(x):\n    return FACTOR * (3 * x + 1) + 1\n"

    reports, _ = run({"scale.py": helper, "twice.py": own}, "--assignment", "twice")

    assert points(reports["twice"]) == (6, 6)


@pytest.mark.parametrize("chain", [[], ["--chain"]], ids=["alone", "chained"])
def test_the_answer_to_a_later_assignment_is_no_part_of_an_earlier_one(run, chain):
    reports, _ = run({"scale.py": RIGHT, "twice.py": CHAINED, "mine.py": "three = 3\n"}, *chain)

    files = [file["name"] for file in reports["scale"]["submission"]["files"]]
    assert files == ["scale.py", "mine.py"]
