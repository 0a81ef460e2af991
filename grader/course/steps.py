"""The steps of a handout's examples, which an assignment may list in ``steps.toml``.

They are numbers and sentences, and no code: what a right answer has in its hands after each step.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .model import Assignment
from .toml_file import TomlFile

STEPS_FILE = "steps.toml"


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step, and what it comes to."""

    name: str
    says: str
    """What it does, in a sentence."""
    value: Any
    """Nested lists of numbers, minus infinity included."""
    returned: bool = False
    """Whether the demonstration gives this under the step's name; else it cannot be seen."""
    through: Literal["", "softmax"] = ""
    """How to read the step before it off this one: softmax along the last axis."""
    ask: str = ""
    """A question for who leaves the path here."""


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One demonstration of the public suite, step by step."""

    demonstration: str
    inputs: dict[str, Any] = {}
    """What it starts from, by name."""
    step: list[Step]


class _StepsFile(msgspec.Struct, forbid_unknown_fields=True):
    example: list[Example] = []


def load_steps(assignment: Assignment) -> list[Example]:
    """The examples whose steps are listed; none where there is no list.

    Raises ``CourseError``, naming file and fault, where the list is not as it should be.
    """
    path = assignment.directory / STEPS_FILE
    if not path.exists():
        return []
    file = TomlFile(path)
    try:
        return msgspec.convert(file.data, _StepsFile).example
    except msgspec.ValidationError as error:
        raise file.error(["example"], f"in its examples, {error}") from None
