"""Whose grades are whose: the names of submissions, and the people of a roster."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from grader.batch.gradebooks.gradebook import Gradebook, Row


@dataclass
class Matching:
    """Who was found. Everybody is in one of the lists: nobody is dropped."""

    found: dict[str, int] = field(default_factory=dict)
    """The number of the roster's row, by a submission's name."""
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    """Names of submissions without a person, each with the reason."""
    silent: list[Row] = field(default_factory=list)
    """People without a submission."""


def match(students: Sequence[str], people: Sequence[Row], gradebook: Gradebook) -> Matching:
    """The person of each student.

    An identifier of the platform's decides before a name does. What fits two people, or two
    submissions of one person, is matched to none.
    """
    matching = Matching()
    by_identifier = _index(people, gradebook, names=False)
    by_name = _index(people, gradebook, names=True)
    claims: dict[int, list[str]] = defaultdict(list)
    for student in students:
        key = _normal(student)
        rows = by_identifier.get(key) or by_name.get(key) or by_name.get(_letters(key)) or set()
        if len(rows) == 1:
            claims[next(iter(rows))].append(student)
        else:
            why = f"fits {len(rows)} people of the roster" if rows else "is not in the roster"
            matching.unmatched.append((student, why))
    for number, names in claims.items():
        if len(names) == 1:
            matching.found[names[0]] = number
            continue
        for name in names:
            others = ", ".join(other for other in names if other != name)
            matching.unmatched.append((name, f"is the same person of the roster as {others}"))
    claimed = set(claims)
    matching.silent = [row for number, row in enumerate(people) if number not in claimed]
    return matching


def _index(people: Sequence[Row], gradebook: Gradebook, *, names: bool) -> dict[str, set[int]]:
    """The numbers of the rows that a key means."""
    index: dict[str, set[int]] = defaultdict(set)
    for number, row in enumerate(people):
        values = {name.casefold(): (text or "").strip() for name, text in row.items()}
        keys = _names(values, gradebook) if names else _identifiers(values, gradebook)
        for key in map(_normal, keys):
            index[key].add(number)
            if names:
                index[_letters(key)].add(number)
    index.pop("", None)
    return index


def _identifiers(values: Row, gradebook: Gradebook) -> Iterator[str]:
    for column in gradebook.identifiers:
        value = values.get(column.casefold(), "")
        yield value
        yield value.partition("@")[0]


def _names(values: Row, gradebook: Gradebook) -> Iterator[str]:
    """The ways in which platforms write a person's name into the names of files."""
    for columns in gradebook.names:
        parts = [values.get(column.casefold(), "") for column in columns]
        if len(parts) == 1:
            last, comma, first = parts[0].partition(",")
            yield parts[0]
            parts = [first.strip(), last.strip()] if comma else []
        if all(parts) and parts:
            yield " ".join(parts)
            yield " ".join(reversed(parts))


def _normal(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def _letters(text: str) -> str:
    """Letters and digits alone, as Canvas has them: ``lovelaceada`` for Lovelace, Ada."""
    return "".join(character for character in text if character.isalnum())
