"""The audit: every variant of the reference through the suite, and what falls short."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from grader.audit.model import (
    Audit,
    CheckEntry,
    FaultEntry,
    MutantEntry,
    PairEntry,
    VariantEntry,
)
from grader.audit.mutants import Equivalents, Mutant, make_mutants
from grader.audit.parallel import run_on_every_core
from grader.course.model import Assignment, CourseError
from grader.diagnosis.catalogue import Catalogue, Fault
from grader.execution import loading
from grader.report.model import Status
from grader.report.words import count
from grader.session.checks.cases import Case, run_checks
from grader.session.checks.collecting import Suites, collected
from grader.session.checks.outcomes import Outcome
from grader.session.checks.source import SourceContext, reference_source, warm_up

Outcomes = dict[str, Outcome]


def audit(
    assignment: Assignment,
    *,
    seeds: int = 5,
    most_pairs: int | None = None,
    say: Callable[[str], None] = print,
) -> Audit:
    """Audit one assignment. Its reference, faults and variants are trusted and run here.

    ``most_pairs`` bounds the pairs of faults, which are then chosen at random, the same each time.
    Raises CourseError for a broken course or catalogue, GraderFault for a suite that cannot be run.
    """
    with collected(assignment) as suites:
        return _audit(assignment, suites, seeds=seeds, most_pairs=most_pairs, say=say)


def _audit(
    assignment: Assignment,
    suites: Suites,
    *,
    seeds: int,
    most_pairs: int | None,
    say: Callable[[str], None],
) -> Audit:
    started = time.monotonic()
    warm_up()
    measure = _Measure(assignment, suites.cases, seeds)

    def begin(number: int, thing: str, under: str = "") -> None:
        say(f"{assignment.id}: trying {count(number, thing)}{under} ...")

    under = f" under {count(seeds, 'seed')}"
    say(f"{assignment.id}: {count(len(measure.checks), 'check')}")
    begin(measure.accepted, "right variant", under)
    lost = measure.right_answers()
    begin(measure.possible_faults, "fault", under)
    faults = measure.faults()
    pairs = measure.choose_pairs(most_pairs)
    begin(len(pairs), "pair")
    bad_pairs = measure.pairs(pairs)
    begin(len(measure.possible_mutants), "mutant")
    survivors, stale = measure.mutants()
    stub_earned, stub_started = measure.stub()
    return Audit(
        assignment=assignment.id,
        title=assignment.title,
        seeds=seeds,
        checks=list(measure.checks.values()),
        points=sum(check.points for check in measure.checks.values()),
        faults=faults,
        pairs=len(pairs),
        possible_pairs=len(measure.possible_pairs),
        bad_pairs=bad_pairs,
        accepted=measure.accepted,
        lost=lost,
        stub_earned=stub_earned,
        stub_started=stub_started,
        mutants=len(measure.possible_mutants),
        survivors=survivors,
        stale=stale,
        idle=[check for check in measure.checks if check not in measure.useful],
        seconds=round(time.monotonic() - started, 2),
    )


class _Measure:
    def __init__(self, assignment: Assignment, cases: list[Case], seeds: int) -> None:
        self._assignment = assignment
        self._seeds = range(seeds)
        self._cases = cases
        self._source = reference_source(assignment)
        self._catalogue = Catalogue(assignment)
        self._equivalents = Equivalents(assignment)
        _require_exports(assignment)
        self.checks = {
            case.check_id: CheckEntry(
                id=case.check_id,
                family=case.check.family,
                title=case.check.title,
                points=case.check.points,
            )
            for case in self._cases
        }
        self.accepted = len(self._catalogue.accepted)
        self.possible_faults = len(self._catalogue)
        self.possible_pairs = list(self._catalogue.pairs())
        self.possible_mutants = make_mutants(self._source)
        self.useful: set[str] = set()

    def right_answers(self) -> list[VariantEntry]:
        """The reference and the accepted variants, each under every seed: what they lost."""
        sources = self._catalogue.right_answers
        sources |= {f"the neutral edit {n.slug}": self._build(n) for n in self._catalogue.neutral}
        runs = [(name, source, seed) for name, source in sources.items() for seed in self._seeds]
        outcomes = run_on_every_core(lambda run: self._run(run[1], run[2]), runs)
        return [
            VariantEntry(name=name, check=check, seed=seed, message=_said(outcome))
            for (name, _, seed), found in zip(runs, outcomes, strict=True)
            for check, outcome in found.items()
            if not outcome.passed
        ]

    def faults(self) -> list[FaultEntry]:
        """Every fault under every seed: which checks caught it."""
        runs = [(fault, seed) for fault in self._catalogue for seed in self._seeds]
        outcomes = run_on_every_core(lambda run: self._run(self._build(run[0]), run[1]), runs)
        failed: dict[str, list[set[str]]] = {}
        for (fault, _), found in zip(runs, outcomes, strict=True):
            failed.setdefault(fault.slug, []).append(_failed(found))
        self._failed_by = {slug: sets[0] for slug, sets in failed.items()}
        entries = []
        for fault in self._catalogue:
            always = set.intersection(*failed[fault.slug])
            ever = set().union(*failed[fault.slug])
            self.useful |= ever
            missed = [
                family
                for family in fault.fails
                if not all(family in self._families(found) for found in failed[fault.slug])
            ]
            entries.append(
                FaultEntry(
                    slug=fault.slug,
                    fails=list(fault.fails),
                    caught_by=[check for check in self.checks if check in always],
                    flaky=[check for check in self.checks if check in ever - always],
                    missed=missed,
                    earned=sum(c.points for c in self.checks.values() if c.id not in always),
                )
            )
        return entries

    def choose_pairs(self, most: int | None) -> list[tuple[Fault, Fault]]:
        """At most so many pairs of faults, the same ones each time."""
        if most is None or len(self.possible_pairs) <= most:
            return self.possible_pairs
        return random.Random(0).sample(self.possible_pairs, most)

    def pairs(self, pairs: list[tuple[Fault, Fault]]) -> list[PairEntry]:
        """Two faults together: those with which something is amiss.

        Two faults may not be caught less, nor earn more, than either of them alone.
        """
        problems = run_on_every_core(self._examine_pair, pairs)
        return [
            PairEntry(faults=[fault.slug for fault in pair], problem=problem)
            for pair, problem in zip(pairs, problems, strict=True)
            if problem
        ]

    def mutants(self) -> tuple[list[MutantEntry], list[str]]:
        """Generic mutants: those that no check caught, and records without a mutant."""
        mutants = self.possible_mutants
        caught = run_on_every_core(self._caught_by, mutants)
        self.useful |= set().union(*caught)
        survivors = [m for m, found in zip(mutants, caught, strict=True) if not found]
        entries = [
            MutantEntry(
                operator=mutant.operator,
                before=mutant.before,
                after=mutant.after,
                reason=self._equivalents.reason(mutant),
            )
            for mutant in survivors
        ]
        return entries, self._equivalents.stale(survivors)

    def stub(self) -> tuple[int, list[str]]:
        """What the untouched stub earns, and the checks that do not see that it is one."""
        outcomes = self._run(self._assignment.stub.read_text("utf-8"), 0)
        earned = sum(self.checks[c].points for c, outcome in outcomes.items() if outcome.passed)
        started = [c for c, outcome in outcomes.items() if outcome.status != Status.NOT_STARTED]
        return earned, started

    def _examine_pair(self, pair: tuple[Fault, Fault]) -> str:
        first, second = (self._failed_by[fault.slug] for fault in pair)
        dearer = max(pair, key=lambda fault: self._points(self._failed_by[fault.slug]))
        alone = self._failed_by[dearer.slug]
        lost = self._points(alone)
        families = {family for fault in pair for family in fault.fails}
        # Checks that neither fails alone could only cost more: they need not be run.
        cases = [case for case in self._cases if case.check_id in first | second]
        failed: set[str] = set()

        def enough(case: Case) -> bool:
            failed.add(case.check_id)
            return self._points(failed) >= lost and bool(families & self._families(failed))

        source = self._build(*pair)
        run_checks(cases, self._context(source, 0), stop=enough)
        if not failed:
            return "together they are not caught"
        if not families & self._families(failed):
            return "together they are caught by none of the families that they name"
        if self._points(failed) < lost:
            together = count(self._points(failed), "point")
            again = ", ".join(check for check in self.checks if check in alone - failed)
            alone_lost = f"{dearer.slug} alone {lost}"
            return f"together they lose {together}, {alone_lost}; what passes again: {again}"
        return ""

    def _caught_by(self, mutant: Mutant) -> set[str]:
        for seed in (0, 1):
            outcomes = run_checks(
                self._cases, self._context(mutant.source, seed), stop=lambda _: True
            )
            if failed := _failed(outcomes):
                return failed
        return set()

    def _build(self, *faults: Fault) -> str:
        source = self._catalogue.build(*faults)
        assert source is not None
        return source

    def _context(self, source: str, seed: int) -> SourceContext:
        return SourceContext(self._assignment, source, seed=seed)

    def _run(self, source: str, seed: int) -> Outcomes:
        return run_checks(self._cases, self._context(source, seed))

    def _points(self, checks: set[str]) -> int:
        return sum(self.checks[check].points for check in checks)

    def _families(self, checks: set[str]) -> set[str]:
        return {self.checks[check].family for check in checks}


def _require_exports(assignment: Assignment) -> None:
    """Raise CourseError if the stub or the reference lacks what the assignment declares."""
    for path in (assignment.stub, assignment.reference):
        if path is None:
            continue
        try:
            module = loading.load(str(path), "grader_variant")
        except Exception as error:
            words = f"{path} cannot be imported: {type(error).__name__}: {error}"
            raise CourseError(words) from None
        for name in assignment.exports:
            if not hasattr(module, name):
                raise CourseError(f"{path} defines no {name}, which assignment.toml declares")


def _failed(outcomes: Outcomes) -> set[str]:
    return {check for check, outcome in outcomes.items() if not outcome.passed}


def _said(outcome: Outcome) -> str:
    return " ".join(part for part in (outcome.message, outcome.detail) if part)[:500]
