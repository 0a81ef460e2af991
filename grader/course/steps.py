"""The steps of a handout's examples, which an assignment may list in ``steps.toml``.

They are numbers and sentences, and no code: what a right answer has in its hands after each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from .model import Assignment
from .toml_file import TomlFile

STEPS_FILE = "steps.toml"


class Slip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known mistake in a step, and the results that it gives."""

    says: str
    """The way, in a sentence to whoever went it."""
    results: dict[str, Any]
    """Results that change, by name; all others that a step names stay right."""
    value: Any = None
    """What the step itself comes to, where that is worth showing."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step and its value."""

    name: str
    says: str
    """What it does, in a sentence."""
    value: Any
    """Nested lists of numbers, minus infinity included."""
    returned: bool | str = False
    """Whether the demonstration gives this, under the step's name or the one that stands here.

    What is not returned cannot be seen.
    """
    through: Literal["", "softmax", "turn"] = ""
    """How to read the step before it off this one.

    By ``softmax`` along the last axis, scores become weights; by ``turn``, an angle becomes its
    cosine and its sine, side by side.
    """
    ask: str = ""
    """A question for who leaves the path here."""
    slip: list[Slip] = []

    @property
    def result(self) -> str | None:
        """The name under which the demonstration gives this; None where it does not."""
        if isinstance(self.returned, str):
            return self.returned
        return self.name if self.returned else None


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Results of one demonstration of the public suite, step by step."""

    demonstration: str
    title: str = ""
    """What to call it where several examples share a demonstration."""
    inputs: dict[str, Any] = {}
    """What it starts from, by name."""
    step: list[Step]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.title or self.demonstration

    @property
    def results(self) -> dict[int, str]:
        """The names under which the demonstration gives steps, by the places of these."""
        return {place: step.result for place, step in enumerate(self.step) if step.result}


class NoSuchExample(LookupError):
    """A word fits no example, or several; the text lists all examples."""


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


def find_example(examples: Sequence[Example], word: str) -> int:
    """The index, from 0, of the example that ``word`` names: a number from 1, or part of a name.

    Raises ``NoSuchExample`` where that is none, or several.
    """
    numbered = [place for place in range(len(examples)) if word.strip() == str(place + 1)]
    named = [place for place, one in enumerate(examples) if one.name.lower() == word.lower()]
    within = [place for place, one in enumerate(examples) if word.lower() in one.name.lower()]
    found = numbered or named or within
    if len(found) == 1:
        return found[0]
    there = "; ".join(f"{place}: {one.name}" for place, one in enumerate(examples, 1))
    raise NoSuchExample(
        f"which example is {word!r}? There are these: {there}."
        if examples
        else "this assignment has no steps for its examples."
    )
