"""Which misconception a submission's behaviour matches: single faults first, then pairs.

A misconception is claimed only when the submission behaves as it does on every probe, and differs
from the reference on at least one. Where several combinations do, what they all share is claimed,
and nothing if they share nothing. Combinations for which there was no time are not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import combinations

import msgspec

from grader.diagnosis.catalogue import Catalogue, Fault
from grader.diagnosis.probes import Signature, distance

Observe = Callable[[str, int], Signature]
"""Runs a source on the probe of a number."""


class Match(msgspec.Struct, kw_only=True):
    """The faults whose behaviour a submission shows, together."""

    faults: list[Fault]
    alternatives: list[Fault]
    """Faults that cannot be told from ``faults[0]`` by any probe."""
    exactness: float
    probes: int
    """On how many probes it differs from the reference, as they do."""


class Matcher:
    """Compares one submission's signatures with those of the catalogue's faults."""

    def __init__(
        self,
        catalogue: Catalogue,
        student: Sequence[Signature],
        reference: Sequence[Signature],
        observe: Observe,
    ) -> None:
        self._catalogue = catalogue
        self._student = student
        self._observe = observe
        self._reference = reference
        self._odd = [
            number
            for number, (mine, right) in enumerate(zip(student, reference, strict=True))
            if distance(mine, right) is None
        ]

    def match(self, seconds: float = 1.0) -> Match | None:
        """The one class that matches, or None; looks at pairs, then triples, while time allows.

        ``seconds`` are of processor time, so that a busy machine gives the same answers.
        """
        if not self._odd:
            return None
        deadline = time.process_time() + seconds
        singles = [
            (fault, exact)
            for fault in self._catalogue
            if (exact := self._compare([fault])) is not None
        ]
        if singles:
            first, exact = singles[0]
            return self._found([first], [fault for fault, _ in singles[1:]], exact)
        plausible = []
        for fault in self._catalogue:
            if time.process_time() > deadline:
                return None
            if self._is_plausible(fault):
                plausible.append(fault)
        # Faults that alone explain much come first, so that the time goes to what is likely.
        plausible.sort(key=lambda fault: -self._explained_by(fault))
        for size in (2, 3):
            matches = self._search(plausible, size, deadline)
            if matches:
                # One fault can hide which of several others is there too; what all share is sure.
                faults, exact = matches[0]
                classes = [frozenset(map(self._class_of, found)) for found, _ in matches]
                common = frozenset.intersection(*classes)
                sure = [fault for fault in faults if self._class_of(fault) in common]
                return self._found(sure, [], exact) if sure else None
        return None

    def _search(
        self, plausible: list[Fault], size: int, deadline: float
    ) -> list[tuple[tuple[Fault, ...], float]]:
        """The combinations that match, of those for which there is time."""
        matches = []
        for indices in sorted(combinations(range(len(plausible)), size), key=sum):
            if time.process_time() > deadline:
                break
            faults = tuple(plausible[index] for index in indices)
            exact = self._compare(faults)
            if exact is not None:
                matches.append((faults, exact))
        return matches

    def _is_plausible(self, fault: Fault) -> bool:
        """Whether a fault can be one of several: alone it is right wherever the submission is.

        Faults that hide each other's effect on a probe are missed, which costs a name and never
        gives a wrong one.
        """
        source = self._catalogue.build(fault)
        assert source is not None
        return all(
            distance(self._observe(source, number), right) is not None
            for number, right in enumerate(self._reference)
            if number not in self._odd
        )

    def _explained_by(self, fault: Fault) -> int:
        """On how many of a few probes where the submission is odd it is as this fault alone."""
        source = self._catalogue.build(fault)
        assert source is not None
        return sum(
            distance(self._student[number], self._observe(source, number)) is not None
            for number in self._odd[:: 1 + len(self._odd) // 8]
        )

    def _class_of(self, fault: Fault) -> str:
        """The first fault that no probe tells from this one."""
        mine = self._catalogue.build(fault)
        assert mine is not None
        for other in self._catalogue:
            theirs = self._catalogue.build(other)
            assert theirs is not None
            if all(
                distance(self._observe(mine, number), self._observe(theirs, number)) is not None
                for number in range(len(self._reference))
            ):
                return other.slug
        return fault.slug

    def _compare(self, faults: Sequence[Fault]) -> float | None:
        """How far the submission is from these faults together; None if it is not them.

        The faults are also tried in the other ways to write the reference.
        """
        for rewritten in ((), *((neutral,) for neutral in self._catalogue.neutral)):
            source = self._catalogue.build(*faults, *rewritten)
            exact = None if source is None else self._compare_source(source)
            if exact is not None:
                return exact
        return None

    def _compare_source(self, source: str) -> float | None:
        largest = 0.0
        # Where the submission is odd it is most likely to differ from another fault too.
        order = [*self._odd, *(n for n in range(len(self._student)) if n not in self._odd)]
        for number in order:
            apart = distance(self._student[number], self._observe(source, number))
            if apart is None:
                return None
            largest = max(largest, apart)
        return largest

    def _found(self, faults: Sequence[Fault], others: list[Fault], exact: float) -> Match:
        return Match(
            faults=list(faults), alternatives=others, exactness=exact, probes=len(self._odd)
        )
