"""The pytest plugin: suites run in any pytest, against any submission.

``pytest tests/hidden/test_gqa.py --submission gqa.py`` grades a file the way ``grade run`` does.
Tests that declare no check are left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from grader.session.checks.declaring import declared_check

if TYPE_CHECKING:
    from grader.session.checks.context import CheckContext, Contexts
    from grader.session.checks.draw import Draw
    from grader.session.checks.outcomes import Outcome
    from grader.session.student.proxy import Student

_ERROR = pytest.StashKey[BaseException | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("grader", "grading of attention components")
    group.addoption("--submission", type=Path, help="grade this file or folder")
    group.addoption("--grader-seed", type=int, default=0, help="seed of the inputs (default: 0)")


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("grader-checks"):
        config.pluginmanager.register(PlainChecks(config), "grader-checks")


class Checks:
    """Runs checks: each in a context, and once more in a fresh worker if it fails."""

    def context_for(self, suite: Path) -> CheckContext:
        raise NotImplementedError

    def is_settled(self, item: pytest.Item) -> bool:
        """Whether the check that ``item`` is a case of needs no further case."""
        return False

    def finished(self, item: pytest.Item, outcome: Outcome) -> None:
        """Called once for each case of a check."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        if declared_check(getattr(item, "function", None)) is None:
            return None
        if self.is_settled(item):
            return True
        outcome, context = self._attempt(item, nextitem)
        if context.can_retry(outcome):
            context.discard()
            outcome, context = self._attempt(item, nextitem)
            outcome.state_dependent = outcome.passed
        self.finished(item, outcome)
        return True

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Make a check's fixtures if all are ours: pytest's way takes as long as many a check."""
        if declared_check(getattr(item, "function", None)) is None:
            return
        assert isinstance(item, pytest.Function)
        if "request" in item._fixtureinfo.argnames:
            return  # it can be asked for a fixture later, and only pytest gives the same one then
        request, known = item._request, item._fixtureinfo.name2fixturedefs
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        names = [name for name in item.fixturenames if name not in {"request", *parameters}]
        if all(name in FIXTURES and len(known[name]) == 1 for name in names):
            item.funcargs["request"] = request
            item.funcargs |= {name: FIXTURES[name](request) for name in names}

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> BaseException | None:
        """Set the check up, call it and tear it down; what it raised."""
        raise NotImplementedError

    def _attempt(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> tuple[Outcome, CheckContext]:
        """Run the check, and again where what was written into its inputs may have decided it."""
        outcome, context = self._run_once(item, nextitem)
        if context.has_spoilt(outcome):
            with context.inputs_closed():
                outcome, context = self._run_once(item, nextitem)
        return outcome, context

    def _run_once(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> tuple[Outcome, CheckContext]:
        from grader.wire.errors import WorkerLost

        context = self.context_for(item.path)
        module = getattr(item, "module", None)
        if module is not None:
            context.constants.keep(module)
        started = time.perf_counter()
        raised = self.run(item, nextitem)
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
        return outcome, context


class PlainChecks(Checks):
    """Contexts as the command line of pytest asks for them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._contexts: Contexts | None = None
        self._reports: list[pytest.TestReport] = []

    def context_for(self, suite: Path) -> CheckContext:
        from grader.course.model import CourseError, NotGradable
        from grader.session.checks.context import Contexts

        if self._contexts is None:
            option: Callable[[str], Any] = self._config.getoption
            submission = option("--submission")
            if submission is not None:
                submission = Path(self._config.invocation_params.dir, submission)
            self._contexts = Contexts(submission, option("--grader-seed"))
        try:
            return self._contexts.for_suite(suite)
        except (CourseError, NotGradable) as error:
            raise pytest.UsageError(str(error)) from None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> BaseException | None:
        item.stash[_ERROR] = None
        self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
        return item.stash[_ERROR]

    def finished(self, item: pytest.Item, outcome: Outcome) -> None:
        """Report the last attempt as pytest would have, and with it the outcome."""
        from grader.session.checks.outcomes import as_property

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._reports[-1].user_properties.append(("outcome", as_property(outcome)))
        for report in self._reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        if call.excinfo is not None and item.stash.get(_ERROR, None) is None:
            item.stash[_ERROR] = call.excinfo.value
        report = yield
        if self._config.getoption("--submission") is not None:
            _make_visible(report.longrepr)
        return report

    def pytest_unconfigure(self) -> None:
        if self._contexts is not None:
            with self._contexts:
                pass


def _let_go(error: BaseException | None) -> None:
    """Free what the frames of an error hold: pytest keeps errors in cycles, and nobody collects."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _make_visible(failure: Any) -> None:
    """Escape what pytest prints of a failure, in which words of a student's can be."""
    from grader.report import safe

    for trace, crash, _ in getattr(failure, "chain", ()):
        if crash is not None:
            crash.message = "\n".join(map(safe.guard, safe.lines(crash.message)))
        for entry in trace.reprentries:
            for part in (entry, getattr(entry, "reprlocals", None)):
                if part is not None:
                    escaped = [safe.lines(line) or [""] for line in part.lines]
                    part.lines = [safe.guard(line) for lines in escaped for line in lines]
            arguments = getattr(entry, "reprfuncargs", None)
            if arguments is not None:
                arguments.args = [(name, safe.escape(text)) for name, text in arguments.args]


def _context(request: pytest.FixtureRequest) -> CheckContext:
    checks = request.config.pluginmanager.get_plugin("grader-checks")
    assert isinstance(checks, Checks)
    return checks.context_for(request.path)


def _draw(request: pytest.FixtureRequest) -> Draw:
    """Random inputs of this check, repeatable from the run's seed."""
    from grader.session.checks.draw import Draw

    return Draw(_context(request).seed, request.node.name)


def _student(request: pytest.FixtureRequest) -> Student:
    """The student's module."""
    context = _context(request)
    context.begin(request.node.name)
    return context.student


def _reference(request: pytest.FixtureRequest) -> Student:
    """The reference, used like the student."""
    return _context(request).reference


def _forbidden_uses(request: pytest.FixtureRequest) -> list[Any]:
    """Where the submission uses what its assignment forbids: grows while calls are made."""
    return _context(request).forbidden_uses


FIXTURES: dict[str, Callable[[pytest.FixtureRequest], Any]] = {
    "draw": _draw,
    "student": _student,
    "reference": _reference,
    "forbidden_uses": _forbidden_uses,
}
draw, student, reference, forbidden_uses = (
    pytest.fixture(function, name=name) for name, function in FIXTURES.items()
)
