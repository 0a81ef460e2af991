"""What an audit found out about one assignment's suite, as data."""

from __future__ import annotations

import msgspec

from grader.report.words import count


class CheckEntry(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    family: str
    title: str
    points: int


class FaultEntry(msgspec.Struct, kw_only=True):
    """One fault and the checks that caught it, under every seed and under some."""

    slug: str
    fails: list[str]
    """Families that have to catch it."""
    caught_by: list[str]
    flaky: list[str]
    """Checks that caught it under some seeds only."""
    missed: list[str]
    """Families that have to catch it and did not, under some seed."""
    earned: int


class PairEntry(msgspec.Struct, kw_only=True):
    """Two faults together, where something is amiss with them."""

    faults: list[str]
    problem: str


class VariantEntry(msgspec.Struct, kw_only=True):
    """A right answer that did not get full marks: the reference, or an accepted variant."""

    name: str
    check: str
    seed: int
    message: str


class MutantEntry(msgspec.Struct, kw_only=True):
    """A mutant that no check caught."""

    operator: str
    before: str
    after: str
    reason: str
    """Why it is equivalent to the reference; empty if nobody has said so."""


class Audit(msgspec.Struct, kw_only=True):
    """The audit of one assignment. ``shortcomings`` is empty if its suite is as it should be."""

    assignment: str
    title: str
    seeds: int
    checks: list[CheckEntry]
    points: int
    faults: list[FaultEntry]
    pairs: int
    """How many pairs of faults were tried, of ``possible_pairs``."""
    possible_pairs: int
    bad_pairs: list[PairEntry]
    accepted: int
    lost: list[VariantEntry]
    stub_earned: int
    stub_started: list[str]
    """Checks that do not see that the stub is untouched."""
    mutants: int
    survivors: list[MutantEntry]
    stale: list[str]
    """Mutants recorded as equivalent that are caught, or made no longer."""
    idle: list[str]
    """Checks that no fault and no mutant fails."""
    seconds: float

    @property
    def shortcomings(self) -> list[str]:
        """Everything that falls short, a sentence each."""
        return [text for texts, _ in self.shortcomings_by_kind for text in texts]

    @property
    def shortcomings_by_kind(self) -> list[tuple[list[str], str]]:
        """What falls short, a sentence each, and beside each kind what an author does about it."""
        kinds = [
            (
                [
                    f"fault {fault.slug} is not caught by the family {family}"
                    for fault in self.faults
                    for family in fault.missed
                ],
                "sharpen a check of that family, or take the family out of the fault's `fails`",
            ),
            (
                [f"faults {' and '.join(pair.faults)}: {pair.problem}" for pair in self.bad_pairs],
                "find an input on which neither undoes the other, or name one in the other's "
                "`cancels`",
            ),
            (
                [
                    f"{entry.name} is right but loses the check {entry.check} under seed "
                    f"{entry.seed}: {entry.message}"
                    for entry in self.lost
                ],
                "make the check less strict; or, if the handout rules that answer out, drop it",
            ),
            (
                [f"the untouched stub earns {count(self.stub_earned, 'point')}"]
                * bool(self.stub_earned)
                + [
                    f"the check {check} does not see an untouched stub"
                    for check in self.stub_started
                ],
                "call the student in each check, and let NotImplementedError through "
                "(assert_raises and assert_started do)",
            ),
            (
                [
                    f"a mutant survives: {mutant.before!r} to {mutant.after!r} ({mutant.operator})"
                    for mutant in self.survivors
                    if not mutant.reason
                ],
                "write a check that fails it; if nothing can show it, record it in equivalent.toml",
            ),
            (
                [
                    f"recorded as an equivalent mutant, but it is none: {line}"
                    for line in self.stale
                ],
                "take the entry out of equivalent.toml",
            ),
            (
                [f"nothing fails the check {check}" for check in self.idle],
                "add the fault that it is there for, or drop the check",
            ),
        ]
        return [(texts, advice) for texts, advice in kinds if texts]
