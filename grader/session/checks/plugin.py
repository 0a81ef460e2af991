"""The pytest plugin: suites run in any pytest, against any submission.

``pytest tests/hidden/test_gqa.py --submission gqa.py`` grades a file the way ``grade run`` does.
Tests that declare no check are left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest
from _pytest.python import get_direct_param_fixture_func
from _pytest.runner import runtestprotocol

from grader.session.checks.declaring import declared_check

if TYPE_CHECKING:
    from grader.session.checks.context import CheckContext
    from grader.session.checks.draw import Draw
    from grader.session.plain import PlainGradings
    from grader.session.student.proxy import Student

CONTEXT: pytest.StashKey[CheckContext] = pytest.StashKey()
"""What the case of the moment runs in."""
_ERROR: pytest.StashKey[BaseException | None] = pytest.StashKey()
PLAIN = "grader-plain"
"""The name of the plugin that grades in a run of pytest's own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("grader", "grading of assignments")
    group.addoption("--submission", type=Path, help="grade this file or folder")
    group.addoption("--grader-seed", type=int, default=0, help="seed of the inputs (default: 0)")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PlainRun(config), PLAIN)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make a check's fixtures if all are ours: pytest's way takes as long as many a check."""
    if not _is_check(item):
        return
    if "request" in item._fixtureinfo.argnames:
        return  # it can be asked for a fixture later, and only pytest gives the same one then
    request, known = item._request, item._fixtureinfo.name2fixturedefs
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    names = [name for name in item.fixturenames if name not in {"request", *parameters}]
    if all(name in FIXTURES and len(known[name]) == 1 for name in names):
        item.funcargs["request"] = request
        item.funcargs |= {name: FIXTURES[name](request) for name in names}
        item.funcargs |= {
            name: value
            for name, value in parameters.items()
            if known[name][-1].func is get_direct_param_fixture_func
        }


class PlainRun:
    """Checks in a run of pytest's own: graded as anywhere, and reported as pytest's."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._gradings: PlainGradings | None = None
        self._reports: list[pytest.TestReport] = []

    @property
    def gradings(self) -> PlainGradings:
        """What is being graded, made when the first check asks for it."""
        if self._gradings is None:
            from grader.session.plain import PlainGradings

            option: Callable[[str], Any] = self._config.getoption
            submission = option("--submission")
            if submission is not None:
                submission = Path(self._config.invocation_params.dir, submission)
            self._gradings = PlainGradings(
                submission, option("--grader-seed"), reports=self._is_reported
            )
        return self._gradings

    @property
    def _is_reported(self) -> bool:
        """Whether pytest-json-report writes a document of this run."""
        return bool(getattr(self._config.option, "json_report", False))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        checks = [item for item in session.items if _is_check(item)]
        if checks and not self._config.option.collectonly:
            with _usage_errors():
                self.gradings.expect(checks)

    def context_for(self, suite: Path) -> CheckContext:
        """The context of whatever a suite's tests ask for."""
        with _usage_errors():
            return self.gradings.context_for(suite)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        if not _is_check(item):
            return None

        def run(item: pytest.Function) -> BaseException | None:
            item.stash[_ERROR] = None
            self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
            return item.stash[_ERROR]

        with _usage_errors():
            outcome = self.gradings.run(item, run)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._reports[-1].user_properties.append(("outcome", outcome))
        for report in self._reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Diagnose, if anybody is going to read it, while fixtures can still be made."""
        if self._gradings is not None and self._is_reported:
            self._gradings.report()

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Put what the grader alone knows into the document of pytest-json-report."""
        if self._gradings is not None:
            self._gradings.add_to(json_report)

    def pytest_unconfigure(self) -> None:
        if self._gradings is not None:
            self._gradings.close()


def _is_check(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return declared_check(getattr(item, "function", None)) is not None


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """Say in a sentence what cannot be graded."""
    from grader.course.model import CourseError, NotGradable

    try:
        yield
    except (CourseError, NotGradable) as error:
        raise pytest.UsageError(str(error)) from None


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
    config = request.config
    if _is_check(request.node):
        return config.stash[CONTEXT]
    plain: PlainRun | None = config.pluginmanager.get_plugin(PLAIN)
    assert plain is not None
    return plain.context_for(request.path)


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
