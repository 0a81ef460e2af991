"""The questions' zip, in a folder laid out as PrairieLearn lays it out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from .conftest import CANARY, RIGHT, WRONG, contents, run_script, unpack

SCHEMA = json.loads(
    Path(__file__).parents[1].joinpath("report/schemas/prairielearn.json").read_text()
)


def test_a_question_is_complete(released):
    files = contents(released["prairielearn.zip"])
    info = json.loads(files["questions/scale/info.json"])
    assert info["gradingMethod"] == "External"
    assert info["externalGradingOptions"]["entrypoint"] == "/grade/tests/run.sh"
    assert b'file-names="scale.py"' in files["questions/scale/question.html"]
    (wheel,) = [name for name in files if name.endswith(".whl")]
    copied = f"COPY {Path(wheel).name} constraints.txt /opt/grader/"
    assert copied.encode() in files["image/Dockerfile"]
    assert b"\ntorch==" in files["image/constraints.txt"]
    assert CANARY.encode() not in files[wheel]


@pytest.fixture(scope="module")
def external_grader(released, tmp_path_factory):
    """PrairieLearn's folder, to be filled with a submission and run; it has no results/."""
    unpacked = unpack(released["prairielearn.zip"], tmp_path_factory.mktemp("questions"))
    root = tmp_path_factory.mktemp("prairielearn") / "grade"
    shutil.copytree(unpacked / "questions/scale/tests", root / "tests")
    (root / "data").mkdir()
    (root / "data/data.json").write_text("{}")

    def run(files, **environment):
        shutil.rmtree(root / "results", ignore_errors=True)
        shutil.rmtree(root / "student", ignore_errors=True)
        (root / "student").mkdir()
        for name, text in files.items():
            (root / "student" / name).write_text(text)
        run_script(root / "tests/run.sh", GRADE_ROOT=str(root), **environment)
        results = json.loads((root / "results/results.json").read_text())
        jsonschema.validate(results, SCHEMA)
        return results

    return run


def test_a_wrong_answer(external_grader):
    wrong = external_grader({"scale.py": WRONG})
    earned = sum(test["points"] for test in wrong["tests"])
    possible = sum(test["max_points"] for test in wrong["tests"])
    assert wrong["score"] == pytest.approx(earned / possible)
    assert "doubled" in wrong["output"]


def test_what_is_missing_costs_no_attempt(external_grader):
    results = external_grader({})
    assert results["gradable"] is False
    assert results["format_errors"]


def test_a_failure_of_the_grader_costs_no_attempt(external_grader):
    results = external_grader({"scale.py": RIGHT}, GRADE_PYTHON="/no/such/python")
    assert results["gradable"] is False
    assert "tell your instructor" in results["message"]
