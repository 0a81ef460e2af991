"""The JSON Schema of what ``grade test-my-tests`` writes, kept as ``schema.json`` beside it.

``python -m grader.owntests.schema`` writes the file anew after a change of the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.owntests.model import Thoroughness
from grader.report.schema import save, schema_of

_FILE = Path(__file__).with_name("schema.json")


def json_schema() -> dict[str, Any]:
    """The schema of :class:`Thoroughness`, as the code has it."""
    return schema_of(Thoroughness, title="Report on a student's own tests")


def schema_text() -> str:
    """The text of ``schema.json``."""
    return _FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    save(json_schema(), _FILE)
