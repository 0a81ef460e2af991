"""Grading one submission: the suites run, the report made."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from grader.course.loading import course_assignment, load_course
from grader.course.model import Assignment, CourseError
from grader.course.submission import NotGradable
from grader.diagnosis.probes import Signature
from grader.jobs.protocol import Job, Progress
from grader.processes import huge_pages
from grader.report.model import (
    CheckResult,
    Diagnosis,
    Report,
    Status,
    Visibility,
)
from grader.session.checks.cases import Case, case_of
from grader.session.checks.context import CheckContext, submission_context
from grader.session.checks.declaring import Check, Demonstration, claim_id, declared_check
from grader.session.checks.evidence import Exhibit, Run, collect_exhibits, demonstrations
from grader.session.checks.outcomes import OUT_OF_MEMORY, Outcome, is_out_of_memory
from grader.session.checks.plugin import Checks
from grader.session.checks.pytest_run import run_suites
from grader.session.checks.scoring import Expected, by_depth, idle_words, score, worst
from grader.session.diagnosis.consequences import Failure, with_consequences
from grader.session.diagnosis.diagnosing import FaultModules, Prober, named, observed
from grader.session.diagnosis.working import Work, Workings
from grader.session.errors import GraderFault, OutOfTime, SubmissionUnusable
from grader.session.reporting import report_on
from grader.wire.errors import WorkerLost
from grader.workers.starting import Workers

OnProgress: TypeAlias = Callable[[Progress], None]
_NOT_SHOWN = (OutOfTime, SubmissionUnusable, WorkerLost, MemoryError)
"""What may end demonstrations and probes; the checks tell the student of it."""

NextJob: TypeAlias = Callable[[], tuple[Job, OnProgress]]


def grade(job: Job, server: Workers, on_progress: OnProgress = lambda _: None) -> Report:
    """Grade ``job`` with workers of ``server``; every worker is dead when this returns.

    The report is an instructor's. Raises CourseError for a broken course, GraderFault or
    SandboxError where the grader itself failed.
    """
    return _Run(job, server, lambda: (job, on_progress)).report()


def prepare_and_grade(like: Job, server: Workers, next_job: NextJob) -> Report:
    """Make everything ready that jobs ``like`` this one have in common, then grade ``next_job()``.

    ``next_job`` may fork, and return in the child: what has been prepared is shared then. Its job
    is for the same assignment, with the same suites. Raises as :func:`grade`.
    """
    return _Run(like, server, next_job, prepare=True).report()


def job_assignment(job: Job) -> tuple[Assignment, list[Assignment], list[Assignment]]:
    """The assignment to grade, and those that come before and after it in the course."""
    course = load_course(Path(os.fsdecode(job.course)))
    assignment = course_assignment(course, job.assignment)
    return assignment, *course.around(assignment)


def job_context(
    job: Job,
    assignment: Assignment,
    earlier: Sequence[Assignment],
    later: Sequence[Assignment],
    server: Workers,
    staging: contextlib.ExitStack,
) -> CheckContext:
    """A context for what ``job`` names, staged until ``staging`` is closed; raises NotGradable."""
    directory = staging.enter_context(tempfile.TemporaryDirectory(dir=server.staging))
    Path(directory).chmod(0o755)
    return submission_context(
        Path(os.fsdecode(job.submission)),
        _limited(assignment, job),
        Path(directory, "staged"),
        server,
        seed=job.seed,
        sandbox=job.sandbox,
        earlier=earlier,
        later=later,
        chain=job.chain,
        packed=job.packed,
        beside=None if job.beside is None else Path(job.beside),
    )


def _limited(assignment: Assignment, job: Job) -> Assignment:
    """The assignment, with the limits that the job asks for."""
    if job.check_seconds is None:
        return assignment
    limits = msgspec.structs.replace(assignment.limits, check_seconds=job.check_seconds)
    return msgspec.structs.replace(assignment, limits=limits)


class _Run(Checks):
    """One run of the suites; learns which checks to expect before any of them runs."""

    def __init__(
        self, like: Job, server: Workers, next_job: NextJob, *, prepare: bool = False
    ) -> None:
        self._public_only = like.public_only
        self._assignment, self._earlier, self._later = job_assignment(like)
        self._server = server
        self._next_job = next_job
        self._prepare = prepare
        self._faults: FaultModules | None = None
        self._workings: Workings | None = None
        self._idle: dict[str, Work] = {}
        self._staging = contextlib.ExitStack()
        self._context: CheckContext | None = None
        self._message = ""
        self._expected: list[Expected] = []
        self._cases: dict[str, Case] = {}
        self._demonstrations: dict[Demonstration, Run] = {}
        self._hidden_module: types.ModuleType | None = None
        self._exhibits: list[Exhibit] = []
        self._observed: list[Signature] = []
        self._is_shown = False
        self._diagnosis: list[Diagnosis] = []
        self._outcomes: dict[str, Outcome] = {}
        self._fault: Exception | None = None
        self._settled: set[int] = set()
        self._done = 0
        self._total = 0

    def report(self) -> Report:
        """Run the checks, or where there is nothing gradable only list them."""
        with self._staging:
            try:
                checks = self._checks()
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                checks = self._too_large()
            finally:
                if self._context is not None:
                    self._context.discard()
                    # A report is handed over when no worker is left that could still do anything.
                    self._server.kill_all()
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

    def _begin(self) -> None:
        """Take the job, once everything is ready for it."""
        self._job, self._on_progress = self._next_job()
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        try:
            self._context = job_context(
                self._job, self._assignment, self._earlier, self._later, self._server, self._staging
            )
        except NotGradable as problem:
            self._message = str(problem)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or not session.items:
            return None  # pytest says what is wrong with the suites
        if self._prepare and self._hidden_module is not None:
            with contextlib.suppress(CourseError):
                self._faults = FaultModules(self._hidden_module, self._assignment)
                self._faults.observe_singles()
            self._workings = self._work_of_reference()
            for export in self._assignment.exports:
                self._workings.specimens(export)
            gc.collect()
            gc.freeze()
            huge_pages.collapse()
        self._begin()
        return True if self._context is None else None

    def _checks(self) -> list[CheckResult]:
        try:
            run_suites(
                self._assignment,
                plugin=_Registered(self),
                public_only=self._public_only,
            )
        except GraderFault as fault:
            raise self._fault or fault from None
        context = self._context
        if context is not None and context.is_stub:
            # What is not there breaks no rule, and may seem to keep one.
            for case, outcome in self._outcomes.items():
                if outcome.status is not Status.NOT_STARTED:
                    self._outcomes[case] = Outcome(
                        status=Status.NOT_STARTED, message="Not started."
                    )
        failures = self._failures()
        if failures and self._hidden_module is None:
            self._show()
        if failures and context is not None and self._assignment.reference is not None:
            with context.memory_filled(), contextlib.suppress(*_NOT_SHOWN):
                self._find_idle(context)
            context.discard()
        if failures and Work.NOTHING not in self._idle.values():
            self._diagnose(failures)
        return score(self._expected, self._outcomes, self._exhibits, self._diagnosis, self._idle)

    def _find_idle(self, context: CheckContext) -> None:
        """Learn which exports do no work, if anything has passed that this might take away."""
        failed: set[str] = set()
        for outcome in self._outcomes.values():
            failed.update(outcome.exports if not outcome.passed else ())
        if any(outcome.passed for outcome in self._outcomes.values()):
            workings = self._workings or self._work_of_reference()
            judged = [export for export in self._assignment.exports if export in failed]
            context.renew()
            self._idle = workings.idle(context, judged)
        if self._idle:
            self._message = idle_words(self._idle)

    def _work_of_reference(self) -> Workings:
        shown = [(shown.title, run) for shown, run in self._demonstrations.items()]
        probes = [] if self._hidden_module is None else Prober(self._hidden_module).runs()
        # A demonstration first: code that works for the handout's sizes alone does work.
        runs: list[tuple[str, Run]] = [*shown[:1], *probes, *shown[1:]]
        return Workings(self._assignment, runs, public={name for name, _ in shown})

    def _diagnose(self, failures: list[Failure]) -> None:
        """Name the misconceptions, and what they explain."""
        if not self._observed or self._faults is None:
            return
        self._diagnosis = with_consequences(
            named(self._observed, self._faults, seconds=0.2 if self._idle else 1.0),
            failures,
            self._faults.catalogue,
            self._assignment,
            seed=self._job.seed,
        )
        if self._idle:  # what does nothing is like many mistakes in part
            self._diagnosis = [one for one in self._diagnosis if one.complete]

    def _too_large(self) -> list[CheckResult]:
        """The checks of a submission that left no memory to grade it with."""
        if self._context is not None:
            self._context.discard()
        self._context, self._message = None, OUT_OF_MEMORY
        return score(self._expected, {}, [])

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
            for exhibit in collect_exhibits(context, self._demonstrations):
                self._exhibits.append(exhibit)
            if self._hidden_module is not None:
                self._faults = self._faults or FaultModules(self._hidden_module, self._assignment)
                self._observed = observed(context, self._faults)
        context.take_called()  # those were not asked for by the check that comes next

    def _failures(self) -> list[Failure]:
        """The checks that failed on what the code does, each with its cases."""
        found = [(entry, worst(entry, self._outcomes)) for entry in by_depth(self._expected)]
        return [
            Failure(id=entry.id, outcome=outcome, cases=[self._cases[case] for case in entry.cases])
            for entry, outcome in found
            if outcome.is_wrong
        ]

    def context_for(self, suite: Path) -> CheckContext:
        assert self._context is not None
        if suite != self._assignment.public_suite and not self._context.sees_hidden:
            self._show()
            self._context.begin_hidden()
        return self._context

    def is_settled(self, item: pytest.Item) -> bool:
        declared = declared_check(getattr(item, "function", None))
        settled = declared is not None and id(declared) in self._settled
        self._done += settled
        return settled

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> BaseException | None:
        # As pytest's own protocol, which makes three reports of each check: nobody reads them here.
        assert isinstance(item, pytest.Function)
        item._initrequest()
        raised = _raised_by(item.ihook.pytest_runtest_setup, item=item)
        if raised is None:
            raised = _raised_by(item.ihook.pytest_runtest_call, item=item)
        after = _raised_by(item.ihook.pytest_runtest_teardown, item=item, nextitem=nextitem)
        # What a check made is held by nobody once it is over.
        item._request, item.funcargs = False, {}  # type: ignore[assignment]
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        return after if raised is None else raised

    def finished(self, item: pytest.Item, outcome: Outcome) -> None:
        declared = declared_check(getattr(item, "function", None))
        assert declared is not None
        self._outcomes[item.nodeid] = outcome
        self._done += 1
        if not outcome.passed:
            self._settled.add(id(declared))
        self._on_progress(
            Progress(
                title=declared.title, status=outcome.status, done=self._done, total=self._total
            )
        )

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Learn which checks to expect, before any of them runs: the public ones first."""
        session.items.sort(key=lambda item: item.path != self._assignment.public_suite)
        by_id: dict[str, Expected] = {}
        taken: dict[str, Check] = {}
        self._total = len(session.items)
        for item in session.items:
            assert isinstance(item, pytest.Function)
            declared = declared_check(item.function)
            if declared is None:
                raise pytest.UsageError(f"{item.nodeid} declares no check")
            public = item.path == self._assignment.public_suite
            visibility = Visibility.PUBLIC if public else Visibility.HIDDEN
            try:
                name = claim_id(item.function, declared, taken)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
            self._cases[item.nodeid] = case_of(item, name, declared)
            if name in by_id:
                by_id[name].cases.append(item.nodeid)
            else:
                by_id[name] = Expected(
                    id=name, check=declared, visibility=visibility, cases=[item.nodeid]
                )
            if public and not self._demonstrations:
                self._demonstrations = demonstrations(item.module)
            if not public:
                self._hidden_module = item.module
        self._expected = list(by_id.values())

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        if isinstance(excinfo.value, Exception):
            self._fault = excinfo.value
        return True


def _raised_by(step: Callable[..., Any], **given: Any) -> BaseException | None:
    try:
        step(**given)
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException as error:
        return error
    return None


class _Registered:
    """Registers a run under the name that the plugin's fixtures look for."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._run, "grader-checks")
