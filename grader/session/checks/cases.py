"""Runs the cases of checks, in the one way that everything shares."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
import pytest

from grader.session.checks.context import CheckContext
from grader.session.checks.declaring import Check
from grader.session.checks.outcomes import Outcome
from grader.session.checks.plugin import CONTEXT, FIXTURES
from grader.session.errors import TooLong
from grader.wire.errors import WorkerLost


class Case(msgspec.Struct, frozen=True, eq=False):
    """One case of a check: what pytest collected, with the parameters of this case."""

    check_id: str
    check: Check
    item: pytest.Function

    @property
    def id(self) -> str:
        """Its id in pytest."""
        return self.item.nodeid

    @property
    def name(self) -> str:
        """The function with its parameters: by it the case has its random inputs."""
        return self.item.name


Run: TypeAlias = Callable[[pytest.Function], BaseException | None]
"""How pytest is to set an item up, call it and tear it down; what that raised."""

_When: TypeAlias = Literal["setup", "call", "teardown"]
_ENDS_ALL = (KeyboardInterrupt, pytest.exit.Exception)


def run_item(item: pytest.Function) -> BaseException | None:
    """Set an item up, call it and tear it down; what it raised.

    As pytest's own protocol, but for the three reports of each item, which nobody would read; only
    fixtures that are not ours may want them made. What modules and classes have set up stays until
    an item comes that lies elsewhere.
    """
    hook, reports = item.ihook, not FIXTURES.keys() >= set(item.fixturenames) - _parameters(item)

    def step(when: _When, do: Callable[..., Any], **given: Any) -> BaseException | None:
        if not reports:
            return _raised_by(do, **given)
        call = pytest.CallInfo.from_call(partial(do, **given), when, reraise=_ENDS_ALL)
        hook.pytest_runtest_makereport(item=item, call=call)
        return None if call.excinfo is None else call.excinfo.value

    def set_up() -> None:
        item.session._setupstate.teardown_exact(item)
        item._initrequest()
        hook.pytest_runtest_setup(item=item)

    raised = step("setup", set_up)
    raised = raised or step("call", hook.pytest_runtest_call, item=item)
    after = step("teardown", hook.pytest_runtest_teardown, item=item, nextitem=item.parent)
    # What a check made is held by nobody once it is over.
    item._request, item.funcargs = False, {}  # type: ignore[assignment]
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    return raised or after


def _parameters(item: pytest.Function) -> set[str]:
    return {"request", *(item.callspec.params if hasattr(item, "callspec") else ())}


def run_case(case: Case, context: CheckContext, run: Run = run_item) -> Outcome:
    """Run a case, and once more in a fresh worker where that could give another outcome."""
    outcome = _attempt(case, context, run)
    if context.can_retry(outcome):
        context.discard()
        outcome = _attempt(case, context, run)
        outcome.state_dependent = outcome.passed
    return outcome


def run_checks(
    cases: Sequence[Case],
    context: CheckContext,
    *,
    stop: Callable[[Case], bool] = lambda _: False,
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


def _attempt(case: Case, context: CheckContext, run: Run) -> Outcome:
    """Run a case, and again where what was written into its inputs may have decided it."""
    outcome = _run_once(case, context, run)
    if context.has_spoilt(outcome):
        with context.inputs_closed():
            outcome = _run_once(case, context, run)
    return outcome


def _run_once(case: Case, context: CheckContext, run: Run) -> Outcome:
    item = case.item
    item.config.stash[CONTEXT] = context
    context.constants.keep(item.module)
    started = time.perf_counter()
    try:
        with context.limited():
            raised = run(item)
    except TooLong as too_long:
        raised = too_long
    error = context.attribute(raised)
    context.constants.restore()
    outcome = context.outcome_of(error)
    _let_go(raised)
    outcome.output, outcome.truncated = context.take_output()
    outcome.evidence = context.take_evidence()
    outcome.exports = context.take_called()
    if isinstance(error, WorkerLost):
        context.discard()
    outcome.seconds = time.perf_counter() - started
    return outcome


def _raised_by(step: Callable[..., Any], **given: Any) -> BaseException | None:
    """What a step raised, kept in no cycle, as a ``CallInfo`` of pytest's would be."""
    try:
        step(**given)
    except _ENDS_ALL:
        raise
    except BaseException as error:
        return error
    return None


def _let_go(error: BaseException | None) -> None:
    """Free what the frames of an error hold: pytest keeps errors in cycles, and nobody collects."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
