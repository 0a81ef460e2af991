"""The verdict on the runs of a file of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from grader.course.families import FAMILIES
from grader.diagnosis.catalogue import Fault
from grader.owntests.kinds import WORDS, kind_of
from grader.owntests.model import FaultEntry, Kind, Rejection
from grader.owntests.running import Run

MOST_REJECTIONS = 20


class Variant(msgspec.Struct, frozen=True):
    """A right answer, or a fault."""

    name: str
    source: str
    fault: Fault | None = None


class Verdict:
    """Whether the tests are valid, and if so what they catch.

    Only what a test says by failing counts. A run that does not come to its end neither lets a
    right answer pass nor catches a fault.
    """

    def __init__(self, variants: Sequence[Variant], runs: Sequence[Run | None]) -> None:
        pairs = list(zip(variants, runs, strict=True))
        self.right = [(variant.name, run) for variant, run in pairs if variant.fault is None]
        self.faults = [(variant.fault, run) for variant, run in pairs if variant.fault is not None]
        reference = self.right[0][1]
        self.tests = 0 if reference is None else len(reference.ended)
        self.rejections = self._rejections()
        self.message = self._why_unusable(reference)
        self.valid = not self.message and not self.rejections
        self.details: list[FaultEntry] = []
        self.kinds: list[Kind] = []
        if self.valid:
            self.details = [_entry(fault, run) for fault, run in self.faults]
            self.kinds = _kinds(self.details)
            self.message = self._why_less()
        self.caught = sum(bool(entry.caught_by) for entry in self.details)

    def _rejections(self) -> list[Rejection]:
        found: dict[str, Rejection] = {}
        for name, run in self.right:
            for test in run.failed if run is not None else []:
                known = found.get(test.test)
                if known is None and len(found) < MOST_REJECTIONS:
                    known = Rejection(
                        test=test.test, line=test.line, message=test.message, rejects=0
                    )
                if known is not None:
                    found[test.test] = msgspec.structs.replace(
                        known, rejects=known.rejects + 1, answers=[*known.answers, name]
                    )
        return list(found.values())

    def _why_unusable(self, reference: Run | None) -> str:
        problem = next((run.problem for _, run in self.right if run and run.problem), "")
        if problem or self.rejections:
            return problem
        if any(run is None for _, run in self.right):
            return "The time ran out before they had been run on every right answer."
        if reference is not None and all(test.outcome == "skipped" for test in reference.ended):
            return "Every test was skipped."
        return ""

    def _why_less(self) -> str:
        """Why some faults count as missed that might have been caught."""
        left_out = sum(run is None for _, run in self.faults)
        cut_short = sum(bool(entry.problem) for entry in self.details)
        said = []
        if left_out:
            said.append(f"The time was up before {left_out} of the faults had been tried.")
        if cut_short:
            said.append(
                f"On {cut_short} of the faults the tests did not come to an end, which catches "
                "nothing: a test has to fail."
            )
        return " ".join(said)


def _entry(fault: Fault, run: Run | None) -> FaultEntry:
    failed = run.failed if run is not None else []
    return FaultEntry(
        slug=fault.slug,
        family=kind_of(fault.fails) or "",
        belief=fault.belief,
        caught_by=failed[0].test if failed else "",
        problem="" if run is None else run.problem,
    )


def _kinds(entries: Sequence[FaultEntry]) -> list[Kind]:
    faults = Counter(entry.family for entry in entries)
    caught = Counter(entry.family for entry in entries if entry.caught_by)
    return [
        Kind(family=family, words=WORDS[family], caught=caught[family], faults=faults[family])
        for family in FAMILIES
        if faults[family]
    ]
