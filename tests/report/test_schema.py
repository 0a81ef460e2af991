"""The schema in the repository is the one of the code, and it describes real reports."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest

from grader.report import files, schema

from . import samples


def test_the_file_is_what_the_code_says():
    assert json.loads(schema.schema_text()) == schema.json_schema(), (
        "after a change of the model: python -m grader.report.schema"
    )


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema.json_schema())


@pytest.mark.parametrize("name", samples.everything())
def test_reports_are_valid(name):
    data = json.loads(files.encode(samples.everything()[name]))
    jsonschema.Draft202012Validator(schema.json_schema()).validate(data)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.update(type="other"),
        lambda data: data.update(schema_version=2),
        lambda data: data.update(status="fine"),
        lambda data: data.pop("score"),
        lambda data: data["score"].update(earned=1.5),
        lambda data: data["checks"][0].update(status="ok"),
    ],
)
def test_other_things_are_not(spoil):
    data = json.loads(files.encode(samples.softmax_over_queries()))
    spoil(data)
    assert not jsonschema.Draft202012Validator(schema.json_schema()).is_valid(data)


def test_the_package_needs_nothing_else_of_the_grader():
    program = (
        "import sys, grader.report.text, grader.report.schema, grader.report.files\n"
        "print([m for m in sys.modules if m == 'torch' or m.startswith('grader.')"
        " and not m.startswith('grader.report')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
