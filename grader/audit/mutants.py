"""Generic mutants of a reference, made by the operators of cosmic-ray."""

from __future__ import annotations

import difflib
import itertools
from pathlib import Path

import msgspec

from grader.course.model import Assignment, CourseError
from grader.course.toml_file import TomlFile

EQUIVALENT_FILE = "equivalent.toml"


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """The reference with one small change."""

    operator: str
    before: str
    """The line that was changed, without its indentation, and what it became."""
    after: str
    source: str


class Equivalents:
    """Mutants that an author has shown to be no faults, from ``equivalent.toml``.

    Each entry of its ``[[mutant]]`` array gives ``before`` and ``after``, the line and what it
    becomes, and ``reason``.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._reasons: dict[tuple[str, str], str] = {}
        path = (assignment.reference or Path()).parent / EQUIVALENT_FILE
        if not path.exists():
            return
        file = TomlFile(path)
        for entry in file.data.get("mutant", []):
            values = [entry.get(key) for key in ("before", "after", "reason")]
            if not all(isinstance(value, str) and value.strip() for value in values):
                raise CourseError(
                    f"{path}: every [[mutant]] needs before, after and reason, each a string"
                )
            self._reasons[values[0], values[1]] = values[2]

    def reason(self, mutant: Mutant) -> str:
        """Why a mutant is equivalent; empty if nobody said so."""
        return self._reasons.get((mutant.before, mutant.after), "")

    def stale(self, survivors: list[Mutant]) -> list[str]:
        """Entries that no surviving mutant needs."""
        used = {(mutant.before, mutant.after) for mutant in survivors}
        return [
            f"{before!r} to {after!r}"
            for before, after in self._reasons
            if (before, after) not in used
        ]


def make_mutants(source: str) -> list[Mutant]:
    """Every mutant that cosmic-ray's operators make of ``source``, equal ones once.

    Raises ModuleNotFoundError where cosmic-ray is not installed.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    mutants: dict[str, Mutant] = {}
    for name in sorted(operator_names()):
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue  # such as replacing a name by another, which the author would have to choose
        for occurrence in itertools.count():
            changed = mutate_code(source, operator_class(), occurrence)
            if changed is None:
                break
            if changed not in mutants and changed != source:
                before, after = _changed_line(source, changed)
                mutants[changed] = Mutant(
                    operator=name.removeprefix("core/"), before=before, after=after, source=changed
                )
    return list(mutants.values())


def _changed_line(before: str, after: str) -> tuple[str, str]:
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    old = " ".join(line[2:].strip() for line in lines if line.startswith("- "))
    new = " ".join(line[2:].strip() for line in lines if line.startswith("+ "))
    return old, new
