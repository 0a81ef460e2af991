"""A suite's checks as plain calls, for running them thousands of times in one process."""

from __future__ import annotations

import contextlib
import inspect
import signal
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
import torch

from grader.course.model import Assignment, CourseError
from grader.execution import loading
from grader.execution.executor import Executor
from grader.execution.forbidden import find_forbidden
from grader.report.model import Status
from grader.session.checks.context import CheckContext
from grader.session.checks.declaring import Check, claim_id, declared_check
from grader.session.checks.draw import Draw
from grader.session.checks.outcomes import Outcome, outcome_of
from grader.session.checks.pytest_run import run_suites
from grader.session.errors import StudentError, student_error
from grader.session.student.transport import LocalTransport
from grader.wire.errors import WorkerTimeout
from grader.wire.messages import ForbiddenUse

SHARE_OF_LIMIT = 0.2
"""Of what the assignment lets a check take: processor time for one case here, without a worker.

A mutant can loop for ever, and a right answer that trains may take a second or two.
"""


FIXTURES = frozenset({"student", "reference", "draw", "forbidden_uses"})
"""What a check may ask for besides its parameters."""


class Case(msgspec.Struct, frozen=True):
    """One case of a check: a function and its parameters."""

    check_id: str
    check: Check
    name: str
    function: Callable[..., Any]
    parameters: dict[str, Any]
    fixtures: tuple[str, ...]
    module: types.ModuleType


class SourceContext(CheckContext):
    """A context for trusted source that runs in this process."""

    def __init__(self, assignment: Assignment, source: str, *, seed: int) -> None:
        self._source = source
        executor = Executor(own_process=False)
        self._broken: StudentError | None = None
        try:
            executor.use(loading.load_source(source, "<variant>", "grader_variant"))
        except Exception as error:
            self._broken = student_error(executor.describe(error))
        super().__init__(assignment, LocalTransport(executor), seed=seed)

    def begin(self, name: str, *, seed: int | None = None) -> None:
        if self._broken is not None:
            raise self._broken
        super().begin(name, seed=seed)

    @property
    def forbidden_uses(self) -> list[ForbiddenUse]:
        return find_forbidden(self._source, self.assignment.forbidden)


def collect(assignment: Assignment) -> list[Case]:
    """The cases of an assignment's suites; raises GraderFault for a suite that cannot be used."""
    # The first operation on it imports half of torch: a deadline within that would break the rest.
    torch.empty(1, device="meta").add(1)
    collector = _Collector()
    run_suites(assignment, "--collect-only", plugin=collector)
    return collector.cases


class _Collector:
    def __init__(self) -> None:
        self.cases: list[Case] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        taken: dict[str, Check] = {}
        for item in session.items:
            assert isinstance(item, pytest.Function)
            declared = declared_check(item.function)
            if declared is None:
                raise pytest.UsageError(f"{item.nodeid} declares no check")
            try:
                name = claim_id(item.function, declared, taken)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
            case = case_of(item, name, declared)
            unknown = set(case.fixtures) - FIXTURES
            if unknown:
                raise pytest.UsageError(
                    f"{item.nodeid} uses the fixture {min(unknown)}; checks may use student, "
                    "reference, draw, forbidden_uses and parameters"
                )
            self.cases.append(case)


def case_of(item: pytest.Function, check_id: str, declared: Check) -> Case:
    """What pytest collected, as a case of the check that it declares."""
    callspec = getattr(item, "callspec", None)
    parameters = dict(callspec.params) if callspec is not None else {}
    needed = [n for n in inspect.signature(item.obj).parameters if n not in parameters]
    return Case(check_id, declared, item.name, item.obj, parameters, tuple(needed), item.module)


def run_case(case: Case, context: CheckContext) -> Outcome:
    """Run one case in a context, as the plugin would."""
    outcome = _run_once(case, context)
    if context.has_spoilt(outcome):
        with context.inputs_closed():
            outcome = _run_once(case, context)
    return outcome


def _run_once(case: Case, context: CheckContext) -> Outcome:
    context.constants.keep(case.module)
    try:
        with _deadline(SHARE_OF_LIMIT * context.assignment.limits.check_seconds):
            values: dict[str, Any] = dict(case.parameters)
            if "student" in case.fixtures:
                context.begin(case.name)
            for fixture in case.fixtures:
                values[fixture] = (
                    Draw(context.seed, case.name)
                    if fixture == "draw"
                    else getattr(context, fixture)
                )
            case.function(**values)
    except _TooLong:
        return outcome_of(WorkerTimeout("it took too long"), None)
    except Exception as error:
        return outcome_of(context.attribute(error), None)
    except BaseException as error:
        if type(error).__name__ != "Skipped":
            raise
        return outcome_of(error, None)
    finally:
        context.constants.restore()
    return Outcome(status=Status.PASSED)


def run_checks(
    cases: list[Case], context: CheckContext, *, stop: Callable[[Case], bool] = lambda _: False
) -> dict[str, Outcome]:
    """Run every check until its first case that fails; the outcome by check id.

    ``stop`` is asked after each failure whether that is enough to know.
    """
    outcomes: dict[str, Outcome] = {}
    for case in cases:
        known = outcomes.get(case.check_id)
        if known is not None and not known.passed:
            continue
        outcomes[case.check_id] = run_case(case, context)
        if not outcomes[case.check_id].passed and stop(case):
            break
    return outcomes


class _TooLong(BaseException):
    """Not an Exception, so that no code under test catches it by accident."""


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def reference_source(assignment: Assignment) -> str:
    """The text of the reference; raises CourseError if there is none."""
    path: Path | None = assignment.reference
    if path is None:
        raise CourseError(f"{assignment.id} cannot be audited: its reference is not here")
    return path.read_text("utf-8")
