"""The JSON Schema of the report: made from the model, kept as ``schema.json`` beside it.

``python -m grader.report.schema`` writes the file anew after a change of the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from grader.report.model import CourseReport, Report

_FILE = Path(__file__).with_name("schema.json")


def json_schema() -> dict[str, Any]:
    """The schema of :class:`Report` and :class:`CourseReport`, as the code has it."""
    (union,), definitions = msgspec.json.schema_components(
        [Report | CourseReport], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of the attention grader",
        **union,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The text of ``schema.json``."""
    return _FILE.read_text(encoding="utf-8")


def write() -> None:
    """Make ``schema.json`` equal to the code."""
    _FILE.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
