"""Which failed checks a misconception explains: those that it fails by itself, and alike.

The reference with the fault in it is put through them again, on the inputs that the submission had.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from grader.course.model import Assignment
from grader.diagnosis.catalogue import Catalogue, Fault
from grader.report.model import Diagnosis, Status
from grader.session.checks.cases import Case, run_case
from grader.session.checks.declaring import Check
from grader.session.checks.outcomes import Outcome
from grader.session.checks.source import SourceContext

_SLOW = ("device", "training")
"""Families that take seconds: the first operation on the device of shapes imports half of torch."""


class Failure(msgspec.Struct, kw_only=True):
    """A check that a submission fails."""

    id: str
    outcome: Outcome
    cases: list[Case]

    @property
    def check(self) -> Check:
        return self.cases[0].check


def with_consequences(
    found: Sequence[tuple[Diagnosis, Fault]],
    failures: Sequence[Failure],
    catalogue: Catalogue,
    assignment: Assignment,
    *,
    seed: int,
    seconds: float = 1.0,
) -> list[Diagnosis]:
    """What was ``found``, each with those of ``failures`` that it explains, the dearest first.

    It explains what the reference with that fault, or with all of them, fails in the same way.
    Where something else is wrong too, the numbers have to be the same as well. What cannot be run
    again here, or not within so much processor time, is put down to a fault that names its family
    among those it fails.
    """
    faults = [fault for _, fault in found]
    complete = all(diagnosis.complete for diagnosis, _ in found)
    deadline = time.process_time() + seconds

    def context(*edits: Fault) -> SourceContext | None:
        source = catalogue.build(*edits)
        return None if source is None else SourceContext(assignment, source, seed=seed)

    contexts = {fault.slug: made for fault in faults if (made := context(fault)) is not None}
    together = context(*faults) if len(faults) > 1 else None
    explained: dict[str, list[Failure]] = {fault.slug: [] for fault in faults}
    for failure in failures:
        if time.process_time() > deadline or failure.check.family in _SLOW:
            fault = next((fault for fault in faults if failure.check.family in fault.fails), None)
        else:
            fault = _fault(faults, failure, contexts, together, numbers=not complete)
        if fault is not None:
            explained[fault.slug].append(failure)
    for spoilers in explained.values():
        if any(failure.outcome.inputs_changed for failure in spoilers):
            # The catalogue's fault may do it where torch lets it pass.
            known = {one.id for ones in explained.values() for one in ones}
            spoilers += [
                one for one in failures if one.id not in known and one.outcome.wrote_to_leaf
            ]
    complete = complete or sum(map(len, explained.values())) == len(failures)
    diagnoses = [
        msgspec.structs.replace(
            diagnosis,
            checks=[one.id for one in _typical_first(explained[fault.slug], fault)],
            complete=complete,
        )
        for diagnosis, fault in found
    ]
    points = {failure.id: failure.check.points for failure in failures}
    return sorted(diagnoses, key=lambda one: -sum(points[id] for id in one.checks))


def _typical_first(failures: Sequence[Failure], fault: Fault) -> list[Failure]:
    """First what ended as most of them did, in a family that the fault is named to fail."""
    cost = Counter[Status]()
    for one in failures:
        cost[one.outcome.status] += one.check.points
    return sorted(
        failures, key=lambda one: (-cost[one.outcome.status], one.check.family not in fault.fails)
    )


def _fault(
    faults: Sequence[Fault],
    failure: Failure,
    contexts: Mapping[str, SourceContext],
    together: SourceContext | None,
    *,
    numbers: bool,
) -> Fault | None:
    failing = []
    for fault in faults:
        outcome = _run(failure, contexts[fault.slug])
        if _alike(failure.outcome, outcome, numbers=numbers):
            return fault
        if not outcome.passed:
            failing.append(fault)
    if together is None or not _alike(failure.outcome, _run(failure, together), numbers=numbers):
        return None
    return next(iter(failing or faults))


def _run(failure: Failure, context: SourceContext) -> Outcome:
    outcome = Outcome(status=Status.PASSED)
    for case in failure.cases:
        outcome = run_case(case, context)
        if not outcome.passed:
            break
    return outcome


def _alike(mine: Outcome, theirs: Outcome, *, numbers: bool) -> bool:
    """Whether two failures say the same; of errors that is their kind, wherever they happen."""
    if mine.status is not theirs.status:
        return False
    if mine.status is not Status.FAILED:
        return mine.error == theirs.error
    return mine.message == theirs.message and (not numbers or _same(mine, theirs))


def _same(mine: Outcome, theirs: Outcome) -> bool:
    """Whether two details are the same, up to what rounding does to numbers that were measured."""
    if not mine.numbers or len(mine.numbers) != len(theirs.numbers):
        return mine.detail == theirs.detail
    pairs = zip(mine.numbers, theirs.numbers, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-4) for a, b in pairs)
