"""Which misconceptions a submission's behaviour matches, alone or together.

The search explains the probes in their order, from the simplest on: of the combinations that are
known, it goes on with the one that behaves as the submission does for longest, and adds a fault
that changes what it does on the first probe where it does not.

What it ends with explains all probes, or as many of the first ones as anything did; something else
is wrong then too. A misconception is claimed only when the combination needs it on two probes or
more, and when no fault of another kind can take its place in it.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import msgspec

from grader.diagnosis.catalogue import Catalogue, Fault
from grader.diagnosis.probes import Signature, agreement, distance, is_evidence

Observe = Callable[[str, int], Signature]
"""Runs a source on the probe of a number."""

MOST_FAULTS = 3
"""How many faults at once are looked for."""


class Match(msgspec.Struct, kw_only=True):
    """The faults whose behaviour a submission shows, together."""

    faults: list[list[Fault]]
    """One class a misconception: a fault, and those that no probe tells from it."""
    exactness: float
    probes: int
    """On how many probes it differs from the reference, as they do."""
    complete: bool
    """Whether they explain every probe."""


class _Node(msgspec.Struct):
    """A combination of faults, and where it first behaves otherwise than the submission."""

    faults: tuple[Fault, ...]
    probe: int

    @property
    def size(self) -> int:
        return sum(not fault.neutral for fault in self.faults)


class Matcher:
    """Compares one submission's signatures with those of the catalogue's faults."""

    def __init__(
        self, catalogue: Catalogue, student: Sequence[Signature], observe: Observe
    ) -> None:
        self._catalogue = catalogue
        self._student = student
        self._observe = observe
        self._sources: dict[frozenset[str], str | None] = {}
        self._edits = [*catalogue, *catalogue.neutral]
        self._odd = [
            number
            for number, mine in enumerate(student)
            if distance(mine, observe(catalogue.source, number)) is None
        ]

    def match(self, seconds: float = 1.0) -> Match | None:
        """What is sure of the combination that explains most; None if nothing is.

        ``seconds`` bounds the search, in processor time, so that a busy machine gives the same
        answers.
        """
        if not self._odd:
            return None
        found = self._search(time.process_time() + seconds)
        explained = self._explained(found)
        faults = self._needed(found, explained)
        exactness = self._compare(faults, explained)
        assert exactness is not None
        sure = []
        for fault in faults:
            others = list(self._in_place_of(fault, faults, explained))
            if (
                self._has_evidence(fault, faults, explained)
                and not self._is_contradicted(fault, faults, explained)
                and all(self._alike(fault, other) for other in others)
            ):
                sure.append([fault, *others])
        if not sure:
            return None
        return Match(
            faults=sure,
            exactness=exactness,
            probes=sum(number < explained for number in self._odd),
            complete=explained == len(self._student) and len(sure) == len(faults),
        )

    def _search(self, deadline: float) -> tuple[Fault, ...]:
        """The combination that behaves as the submission on all probes, or on the most first."""
        best: tuple[Fault, ...] = ()
        furthest = self._explained(best)
        order = count()
        frontier = [(0, 0.0, next(order), _Node(faults=best, probe=furthest))]
        known: set[frozenset[str]] = set()
        while frontier:
            node = heapq.heappop(frontier)[-1]
            before = self._observed(node.faults, node.probe)
            assert before is not None
            for fault in self._edits:
                if node.faults and time.process_time() > deadline:
                    return best
                faults = (*node.faults, fault)
                slugs = frozenset(fault.slug for fault in faults)
                after = self._observed(faults, node.probe)
                if after is None or slugs in known or distance(before, after) is not None:
                    continue
                known.add(slugs)
                explained = self._explained(faults)
                if explained == len(self._student):
                    return faults
                if explained > furthest:
                    best, furthest = faults, explained
                child = _Node(faults=faults, probe=explained)
                if explained >= node.probe and child.size <= MOST_FAULTS:
                    near = agreement(self._student[explained], self._seen(faults, explained))
                    heapq.heappush(frontier, (-explained, -near, next(order), child))
        return best

    def _explained(self, faults: Sequence[Fault]) -> int:
        """How many of the first probes the submission behaves on as these faults together do."""
        for number, mine in enumerate(self._student):
            theirs = self._observed(faults, number)
            if theirs is None or distance(mine, theirs) is None:
                return number
        return len(self._student)

    def _needed(self, faults: tuple[Fault, ...], explained: int) -> tuple[Fault, ...]:
        """``faults`` without those that are not needed, and without other ways to write it."""
        for fault in faults:
            rest = _without(fault, faults)
            if self._compare(rest, explained) is not None:
                return self._needed(rest, explained)
        return faults

    def _has_evidence(self, fault: Fault, faults: tuple[Fault, ...], explained: int) -> bool:
        """Whether two probes at least need a fault, by more than the kind of an error."""
        if fault.neutral:
            return False
        rest = _without(fault, faults)
        evidence = 0
        for number in range(explained):
            mine = self._student[number]
            other = self._observed(rest, number)
            needed = other is None or distance(mine, other) is None
            evidence += needed and is_evidence(mine, self._seen(faults, number))
        return evidence >= 2

    def _is_contradicted(self, fault: Fault, faults: tuple[Fault, ...], explained: int) -> bool:
        """Whether the submission is without a fault on a probe that was not explained."""
        rest = _without(fault, faults)
        for number in range(explained, len(self._student)):
            mine = self._student[number]
            other = self._observed(rest, number)
            is_without = other is not None and distance(mine, other) is not None
            if is_without and distance(mine, self._seen(faults, number)) is None:
                return True
        return False

    def _in_place_of(
        self, fault: Fault, faults: tuple[Fault, ...], explained: int
    ) -> Iterator[Fault]:
        """The other faults with which the combination matches as well."""
        rest = _without(fault, faults)
        random = self._compare(faults, explained, random=False) is None
        for other in self._catalogue:
            if other in faults:
                continue
            if self._compare((*rest, other), explained, random=random) is not None:
                yield other

    def _alike(self, one: Fault, other: Fault) -> bool:
        """Whether no probe tells two faults apart."""
        return all(
            distance(self._seen((one,), number), self._seen((other,), number)) is not None
            for number in range(len(self._student))
        )

    def _compare(
        self, faults: Sequence[Fault], explained: int, *, random: bool = True
    ) -> float | None:
        """How far the submission is from these faults on the first probes; None if it is other."""
        largest = 0.0
        for number, mine in enumerate(self._student[:explained]):
            theirs = self._observed(faults, number)
            apart = None if theirs is None else distance(mine, theirs, random=random)
            if apart is None:
                return None
            largest = max(largest, apart)
        return largest

    def _seen(self, faults: Sequence[Fault], number: int) -> Signature:
        seen = self._observed(faults, number)
        assert seen is not None
        return seen

    def _observed(self, faults: Sequence[Fault], number: int) -> Signature | None:
        """What these faults together do on a probe; None if they cannot be made together."""
        slugs = frozenset(fault.slug for fault in faults)
        if slugs not in self._sources:
            self._sources[slugs] = self._catalogue.build(*faults)
        source = self._sources[slugs]
        return None if source is None else self._observe(source, number)


def _without(fault: Fault, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    return tuple(other for other in faults if other is not fault)
