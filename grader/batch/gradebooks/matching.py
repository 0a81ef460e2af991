"""Matches the students of a batch with the people of a roster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from grader.batch.gradebooks.gradebook import Gradebook, Headings
from grader.batch.gradebooks.roster import Row, normal
from grader.report.model import Person

LEVELS = ("id", "login", "address", "name")
"""What is said of a student, by how much it tells. A name is often the student's own choice."""

Index: TypeAlias = Mapping[tuple[str, str], set[int]]
"""The numbers of the roster's rows, by a kind of word and a word."""


@dataclass
class Matching:
    """The result of matching. Every student is in exactly one of the lists."""

    found: dict[str, int] = field(default_factory=dict)
    """The number of the roster's row, by a student of the batch."""
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    """Students of the batch without a person, each with the reason."""
    silent: list[Row] = field(default_factory=list)
    """People without a submission."""


def match(
    students: Mapping[str, Sequence[Person]],
    people: Sequence[Row],
    gradebook: Gradebook,
    headings: Headings,
) -> Matching:
    """The person of each of ``students``, of whom one or more things are said.

    What tells more decides before what tells less. What fits two people, or two students alike, is
    matched to none.
    """
    matching = Matching()
    index = _index(people, gradebook, headings)
    claims: dict[int, dict[str, int]] = defaultdict(dict)
    for student, said in students.items():
        level, rows, why = _evidence(said, gradebook, index)
        if len(rows) == 1 and not why:
            claims[next(iter(rows))][student] = level
        else:
            matching.unmatched.append((student, why or _how_many(rows, gradebook, headings)))
    for number, levels in claims.items():
        best = [student for student in levels if levels[student] == min(levels.values())]
        if len(best) == 1:
            matching.found[best[0]] = number
        for student in levels:
            others = ", ".join(other for other in best if other != student)
            if others:
                by = "" if student in best else f"by {LEVELS[levels[student]]} "
                why = f"is {by}the same person of the roster as {others}"
                matching.unmatched.append((student, why))
    matching.silent = [row for number, row in enumerate(people) if number not in claims]
    return matching


def _evidence(
    said: Sequence[Person], gradebook: Gradebook, index: Index
) -> tuple[int, set[int], str]:
    """The rows that the strongest of what is said leads to, its level, and what speaks against."""
    hits: list[set[int]] = [set() for _ in LEVELS]
    for person in said:
        own = person.platform == gradebook.name and ("has", person.platform) in index
        found = index.get((person.platform, normal(person.id)), set()) if person.id else set()
        if own and person.id and not found:
            return 0, set(), f"has the id {person.id}, which is not in the roster"
        hits[0] |= found
        hits[1] |= index.get(("login", normal(person.login)), set())
        hits[2] |= index.get(("address", normal(person.email)), set())
        hits[3] |= _by_name(person, index)
    sure = set[int]().union(*(rows for rows in hits[:3] if len(rows) == 1))
    if len(sure) > 1:
        return 0, set(), "has an id, a login or an address of different people of the roster"
    level = next((level for level, rows in enumerate(hits) if rows), 3)
    return level, hits[level], ""


def _by_name(person: Person, index: Index) -> set[int]:
    """The rows that a name may mean; whoever has nothing else may be called by a login, too."""
    name = normal(person.name or person.student)
    bare = not (person.id or person.login or person.email)
    kinds = [("any", name)] if bare else [("local", normal(person.login))]
    kinds += [("name", name), ("name", _letters(name))]
    return next((rows for kind in kinds if (rows := index.get(kind))), set())


def _how_many(rows: set[int], gradebook: Gradebook, headings: Headings) -> str:
    if not rows:
        return "is not in the roster"
    more = ""
    if gradebook.whole and not any(name in headings for name in gradebook.ids[gradebook.name]):
        more = "; the assignment's grading worksheet has the numbers that tell them apart"
    return f"fits {len(rows)} people of the roster{more}"


def _index(people: Sequence[Row], gradebook: Gradebook, headings: Headings) -> Index:
    index: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, row in enumerate(people):
        values = {name: row[heading].strip() for name, heading in headings.items()}
        for kind, word in _words(values, gradebook):
            if normal(word):
                index[kind, normal(word)].add(number)
        for word in map(normal, _names(values, gradebook)):
            index["name", word].add(number)
            index["name", _letters(word)].add(number)
    index.pop(("name", ""), None)
    return index


def _words(values: Row, gradebook: Gradebook) -> Iterator[tuple[str, str]]:
    """What tells somebody from all others: its kind, and the word itself."""
    for platform, columns in gradebook.ids.items():
        for value in (values.get(column, "") for column in columns):
            own = gradebook.own_id.search(value) if platform == gradebook.name else None
            yield platform, own[0] if own else value
            yield "has", platform if value else ""
            yield "any", own[0] if own else value
    for kind, columns in (("login", gradebook.logins), ("address", gradebook.emails)):
        for value in (values.get(column, "") for column in columns):
            yield kind, value
            yield "any", value
            yield "any", value.partition("@")[0]
            yield "local", value.partition("@")[0]


def _names(values: Row, gradebook: Gradebook) -> Iterator[str]:
    """The ways in which platforms write a person's name into the names of files."""
    for columns in gradebook.names:
        parts = [values.get(column, "") for column in columns]
        if len(parts) == 1:
            last, comma, first = parts[0].partition(",")
            yield parts[0]
            parts = [first.strip(), last.strip()] if comma else []
        if all(parts) and parts:
            yield " ".join(parts)
            yield " ".join(reversed(parts))


def _letters(text: str) -> str:
    """Letters and digits alone, as Canvas has them: ``lovelaceada`` for Lovelace, Ada."""
    return "".join(character for character in text if character.isalnum())
