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
    return schema_of(Report | CourseReport, title="Report of the attention grader")


def schema_of(kind: Any, *, title: str) -> dict[str, Any]:
    """The schema of a type of msgspec's, as a document of its own."""
    (top,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The text of ``schema.json``."""
    return _FILE.read_text(encoding="utf-8")


def write() -> None:
    """Make ``schema.json`` equal to the code."""
    save(json_schema(), _FILE)


def save(schema: dict[str, Any], path: Path) -> None:
    """Write a schema to a file."""
    path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
