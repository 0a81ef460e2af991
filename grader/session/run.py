"""One submission through the checks of its suites, and the report on that."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

from grader.course.model import Assignment
from grader.diagnosis.probes import Signature
from grader.jobs.protocol import Job, Progress
from grader.report.model import CheckResult, Diagnosis, Report, Status
from grader.session.checks.cases import Case, Run, run_case, run_item
from grader.session.checks.collecting import Suites
from grader.session.checks.context import CheckContext
from grader.session.checks.evidence import Exhibit, collect_exhibits, demonstrations
from grader.session.checks.outcomes import OUT_OF_MEMORY, Outcome, is_out_of_memory
from grader.session.checks.scoring import by_depth, idle_words, score, worst
from grader.session.diagnosis.consequences import Failure, with_consequences
from grader.session.diagnosis.diagnosing import FaultModules, Prober, named, observed
from grader.session.diagnosis.working import Work, WorkTester
from grader.session.errors import OutOfTime, SubmissionUnusable
from grader.session.reporting import report_on
from grader.wire.errors import WorkerLost

OnProgress: TypeAlias = Callable[[Progress], None]
_NOT_SHOWN = (OutOfTime, SubmissionUnusable, WorkerLost, MemoryError)
"""What may end demonstrations and probes; the checks tell the student of it."""


class Common:
    """What all submissions for one assignment have in common; made when first asked for."""

    def __init__(self, assignment: Assignment, suites: Suites) -> None:
        self.assignment = assignment
        self.suites = suites
        self.demonstrations = {} if suites.public is None else demonstrations(suites.public)

    @cached_property
    def faults(self) -> FaultModules:
        """The known faults, on the probes of the hidden suite; raises CourseError."""
        return FaultModules(self.suites.hidden, self.assignment)

    @cached_property
    def workings(self) -> WorkTester:
        """What doing some work is, by the reference."""
        shown = [(shown.title, run) for shown, run in self.demonstrations.items()]
        hidden = self.suites.hidden
        probes = [] if hidden is None else Prober(hidden).runs()
        # A demonstration first: code that works for the handout's sizes alone does work.
        runs = [*shown[:1], *probes, *shown[1:]]
        return WorkTester(self.assignment, runs, public={name for name, _ in shown})


class Grading:
    """One grading of one submission; without a context there is nothing that could be graded."""

    def __init__(
        self,
        common: Common,
        job: Job,
        context: CheckContext | None,
        on_progress: OnProgress = lambda _: None,
        *,
        message: str = "",
        diagnoses: bool = True,
    ) -> None:
        """``diagnoses`` says whether anybody is going to ask which misconception there is."""
        self._common = common
        self._assignment = common.assignment
        self._suites = common.suites
        self._job = job
        self._context = context
        self._on_progress = on_progress
        self._message = message
        self._diagnoses = diagnoses
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        self._idle: dict[str, Work] = {}
        self._exhibits: list[Exhibit] = []
        self._observed: list[Signature] = []
        self._is_shown = False
        self._diagnosis: list[Diagnosis] = []
        self._outcomes: dict[str, Outcome] = {}
        self._done = 0

    def run_all(self) -> None:
        """Run each check until its first case that fails."""
        failed: set[str] = set()
        try:
            for case in self._suites.cases:
                if case.check_id in failed:
                    self._done += 1
                elif not self.run(case).passed:
                    failed.add(case.check_id)
        except Exception as error:
            self._too_large(error)

    def run(self, case: Case, run: Run = run_item) -> Outcome:
        """Run one case."""
        context = self._context
        assert context is not None
        if case.item.path != self._assignment.public_suite and not context.sees_hidden:
            self._show()
            context.begin_hidden()
        outcome = self._outcomes[case.id] = run_case(case, context, run)
        self._done += 1
        self._on_progress(
            Progress(
                title=case.check.title,
                status=outcome.status,
                done=self._done,
                total=len(self._suites.cases),
            )
        )
        return outcome

    def report(self) -> Report:
        """What has been found, with misconceptions named and idle code found out."""
        try:
            checks = self._checks()
        except Exception as error:
            self._too_large(error)
            checks = self._checks()
        return report_on(
            self._job,
            self._diagnosis,
            self._assignment,
            self._context,
            checks,
            self._message,
            self._started_at,
            round(time.monotonic() - self._started, 6),
        )

    def _too_large(self, error: Exception) -> None:
        """Give up a submission that left no memory to grade it with; raises any other error."""
        if not is_out_of_memory(error):
            raise error
        if self._context is not None:
            self._context.discard()
        self._context, self._message, self._outcomes = None, OUT_OF_MEMORY, {}
        self._exhibits, self._diagnosis, self._idle = [], [], {}

    def _checks(self) -> list[CheckResult]:
        context = self._context
        if context is not None and context.is_stub:
            # What is not there breaks no rule, and may seem to keep one.
            for case, outcome in self._outcomes.items():
                if outcome.status is not Status.NOT_STARTED:
                    self._outcomes[case] = Outcome(
                        status=Status.NOT_STARTED, message="Not started."
                    )
        failures = self._failures()
        if failures and self._suites.hidden is None:
            self._show()
        if failures and context is not None and self._assignment.reference is not None:
            with context.memory_filled(), contextlib.suppress(*_NOT_SHOWN):
                self._find_idle(context)
            context.discard()
        if failures and Work.NOTHING not in self._idle.values():
            self._diagnose(failures)
        return score(
            self._suites.expected, self._outcomes, self._exhibits, self._diagnosis, self._idle
        )

    def _find_idle(self, context: CheckContext) -> None:
        """Learn which exports do no work, if anything has passed that this might take away."""
        failed: set[str] = set()
        for outcome in self._outcomes.values():
            failed.update(outcome.exports if not outcome.passed else ())
        if any(outcome.passed for outcome in self._outcomes.values()):
            judged = [export for export in self._assignment.exports if export in failed]
            context.renew()
            self._idle = self._common.workings.idle(context, judged)
        if self._idle:
            self._message = idle_words(self._idle)

    def _diagnose(self, failures: list[Failure]) -> None:
        """Name the misconceptions, and what they explain."""
        if not self._observed:
            return
        faults = self._common.faults
        self._diagnosis = with_consequences(
            named(self._observed, faults, seconds=0.2 if self._idle else 1.0),
            failures,
            faults.catalogue,
            self._assignment,
            seed=self._job.seed,
        )
        if self._idle:  # what does nothing is like many mistakes in part
            self._diagnosis = [one for one in self._diagnosis if one.complete]

    def _show(self) -> None:
        """Run what the student is shown numbers of: the demonstrations, and then the probes.

        Before any hidden check, in a worker that never serves one: whatever way there is to leave
        word for a later worker, nothing is known yet that must not get out.
        """
        context = self._context
        if self._is_shown or context is None or self._assignment.reference is None:
            return
        self._is_shown = True
        context.renew()
        with context.on_the_side(), contextlib.suppress(*_NOT_SHOWN):
            for exhibit in collect_exhibits(context, self._common.demonstrations):
                self._exhibits.append(exhibit)
            if self._diagnoses and self._suites.hidden is not None:
                self._observed = observed(context, self._common.faults)
        context.take_called()  # those were not asked for by the check that comes next

    def _failures(self) -> list[Failure]:
        """The checks that failed on what the code does, each with its cases."""
        expected = by_depth(self._suites.expected)
        found = [(entry, worst(entry, self._outcomes)) for entry in expected]
        cases = {case.id: case for case in self._suites.cases}
        return [
            Failure(id=entry.id, outcome=outcome, cases=[cases[case] for case in entry.cases])
            for entry, outcome in found
            if outcome.is_wrong
        ]
