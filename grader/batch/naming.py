"""Names for a class's students: stable from run to run, and unique in the class.

The ids that a platform gives decide who is who. A name, which is often the student's own choice,
decides only between those who have no id.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from grader.batch.class_folder import HandIn, normal
from grader.report import safe
from grader.report.model import Person

Key: TypeAlias = tuple[str, str, str, str]
"""A platform, which of its fields tells people apart, what it says, and in which assignment."""

NUMBERED_ANEW = frozenset({"moodle"})
"""Platforms whose ids hold within one assignment: each numbers its participants anew."""


def person_of(hand_in: HandIn) -> Person:
    """The person of a hand-in, still without a unique name; all text is valid UTF-8."""
    fields = (hand_in.student, hand_in.id, hand_in.login, hand_in.email)
    name, id, login, email = map(normal, fields)
    return Person(student="", name=name, platform=hand_in.platform, id=id, login=login, email=email)


def key_of(person: Person, assignment: str) -> Key:
    """A key that only the same person has.

    An address comes first: it is what people sign in by where it is given (Gradescope), and the
    number beside it may be their own entry.
    """
    scope = assignment if person.platform in NUMBERED_ANEW else ""
    for field in ("email", "id", "login"):
        if value := getattr(person, field):
            return (person.platform, field, value if field == "id" else value.casefold(), scope)
    return ("", "name", person.name, "")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is in the class already, with a submission for an assignment."""

    person: Person
    """Without a name in folders of before it was written down: whoever comes by that name is it."""
    assignment: str


class Names:
    """Calls those who are ``coming``, each with an assignment, in a class that has ``known``."""

    def __init__(self, known: Iterable[Known], coming: Iterable[tuple[Person, str]]) -> None:
        self.collisions: list[str] = []
        self._called: dict[Key, str] = {}
        self._owners: dict[str, set[Key]] = defaultdict(set)
        self._unknown: dict[str, str] = {}
        self._namesakes: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._taken: set[tuple[str, str]] = set()
        coming = list(coming)
        known = list(known)
        self._shared = _shared(coming)
        people = [*(person for person, _ in coming), *(one.person for one in known)]
        self._ids = {person.id for person in people if person.id}
        for one in sorted(known, key=lambda one: one.person.student):
            if one.person.name:
                self._call(one.person, one.assignment, one.person.student)
            else:
                self._unknown[_alike(one.person.student)] = one.person.student
        for label in self._owners:
            self._unknown.pop(label, None)

    def call(self, person: Person, assignment: str) -> Person:
        """``person`` with a name in this class, which is this person's alone."""
        key = key_of(person, assignment)
        base = person.name or "nameless"
        shared = _alike(base) in self._shared
        if shared and person.id:
            self._say(f"Several students are called {base}; their ids tell them apart.")
        label = (
            self._called.get(key)
            or self._adopted(person, base, shared)
            or self._namesake(person, assignment, shared)
        )
        if label is None:
            label = self._new(person, key, base, shared)
        elif (_alike(label), assignment) in self._taken:
            label = self._again(key, label, assignment)
        self._call(person, assignment, label)
        self._taken.add((_alike(label), assignment))
        return msgspec.structs.replace(person, student=label)

    def _call(self, person: Person, assignment: str, label: str) -> None:
        key = key_of(person, assignment)
        self._called.setdefault(key, label)
        self._owners[_alike(label)].add(key)
        self._namesakes[person.platform, person.name].add(label)

    def _adopted(self, person: Person, base: str, shared: bool) -> str | None:
        """What a folder of before calls whoever has this name."""
        names = [f"{base} ({person.id})"] if person.id else []
        names += [] if shared else [base]
        found = (self._unknown.pop(_alike(name), None) for name in names)
        return next((label for label in found if label is not None), None)

    def _namesake(self, person: Person, assignment: str, shared: bool) -> str | None:
        """What the only one of this name is called in other assignments, where ids change."""
        labels = self._namesakes[person.platform, person.name]
        if person.platform not in NUMBERED_ANEW or shared or len(labels) != 1:
            return None
        (label,) = labels
        owners = self._owners[_alike(label)]
        same = all(key[0] == person.platform and key[3] != assignment for key in owners)
        return label if same else None

    def _new(self, person: Person, key: Key, base: str, shared: bool) -> str:
        met = not self._is_free(base, key)
        told_apart = bool(person.id) and (shared or met or self._poses(base))
        label = self._numbered(f"{base} ({person.id})" if told_apart else base, key)
        if met and not (shared and person.id):
            self._say(
                f"{base} is somebody in this class already, and nothing says that it is the same "
                f"person: this one is called {label}."
            )
        return label

    def _poses(self, name: str) -> bool:
        """Whether a name ends as one does that tells somebody else apart."""
        match = re.search(r"(?:\(([^()]+)\)|\[\d+\])$", name)
        return match is not None and match[1] in {None, *self._ids}

    def _again(self, key: Key, base: str, assignment: str) -> str:
        label = self._numbered(base, key, assignment)
        self._say(
            f"{base} has handed in {assignment or 'something'} more than once, and nothing tells "
            f"which counts: one of them is graded as {label}."
        )
        return label

    def _numbered(self, base: str, key: Key, assignment: str | None = None) -> str:
        label, number = base, 1
        while not self._is_free(label, key) or (_alike(label), assignment) in self._taken:
            number += 1
            label = f"{base} [{number}]"
        return label

    def _is_free(self, label: str, key: Key) -> bool:
        alike = _alike(label)
        return alike not in self._unknown and self._owners.get(alike, set()) <= {key}

    def _say(self, words: str) -> None:
        if words not in self.collisions:
            self.collisions.append(words)


def _shared(coming: Iterable[tuple[Person, str]]) -> set[str]:
    """Names of those coming that more than one of them has."""
    keys: dict[tuple[str, str], set[Key]] = defaultdict(set)
    for person, assignment in coming:
        key = key_of(person, assignment)
        keys[_alike(person.name or "nameless"), key[3]].add(key)
    return {name for (name, _), several in keys.items() if len(several) > 1}


def _alike(label: str) -> str:
    """Equal for names that a file system, a table or a reader could take for one."""
    return unicodedata.normalize("NFKC", safe.cell(label)).casefold()
