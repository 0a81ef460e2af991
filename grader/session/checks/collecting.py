"""Has pytest collect the checks of an assignment from its suites."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import types
from collections.abc import Iterable, Iterator

import pytest
from _pytest.config import _prepareconfig

from grader.course.model import Assignment
from grader.report.model import Visibility
from grader.session.checks.cases import Case
from grader.session.checks.declaring import Check, claim_id, declared_check
from grader.session.checks.plugin import PLAIN
from grader.session.checks.scoring import Expected
from grader.session.errors import SuiteFault

_ARGUMENTS = (
    f"-c{os.devnull}",
    "--import-mode=importlib",
    "--noconftest",
    "--assert=plain",
    "--tb=native",
    "-pgrader.session.checks.plugin",
    f"-pno:{PLAIN}",  # which would grade by itself
    # Without these a warm process spends most of its time collecting garbage.
    "-pno:unraisableexception",
    "-pno:threadexception",
    "-pno:cacheprovider",
    "-pno:logging",
    "-pno:warnings",
    # Each of these takes part in every check and adds nothing to it.
    "-pno:capture",
    "-pno:faulthandler",
    "-pno:setuponly",
    "-pno:setupplan",
    "-pno:subtests",
)


class Suites:
    """The cases of an assignment's suites, those of the public one first."""

    def __init__(self, assignment: Assignment, items: Iterable[pytest.Function]) -> None:
        """Raises pytest.UsageError for an item that declares no check, and for two of one id."""
        self.cases: list[Case] = []
        self.expected: list[Expected] = []
        """The checks that these are cases of: what a report has to account for."""
        self.public: types.ModuleType | None = None
        self.hidden: types.ModuleType | None = None
        by_id: dict[str, Expected] = {}
        taken: dict[str, Check] = {}
        for item in sorted(items, key=lambda item: item.path != assignment.public_suite):
            declared = declared_check(item.function)
            if declared is None:
                raise pytest.UsageError(f"{item.nodeid} declares no check")
            try:
                name = claim_id(item.function, declared, taken)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
            visibility = Visibility.HIDDEN
            if item.path == assignment.public_suite:
                self.public, visibility = self.public or item.module, Visibility.PUBLIC
            else:
                self.hidden = item.module
            if name not in by_id:
                by_id[name] = Expected(id=name, check=declared, visibility=visibility, cases=[])
                self.expected.append(by_id[name])
            by_id[name].cases.append(item.nodeid)
            self.cases.append(Case(name, declared, item))


@contextlib.contextmanager
def collected(assignment: Assignment, *, public_only: bool = False) -> Iterator[Suites]:
    """The suites of an assignment, held open by pytest so that their fixtures can be made.

    Nothing else that is installed takes part. Raises SuiteFault, with what pytest printed, for
    suites that cannot be used.
    """
    suites = [assignment.public_suite]
    hidden = assignment.hidden_suite
    if hidden is not None and not public_only:
        suites.append(hidden)
    arguments = [*map(str, suites), f"--rootdir={suites[0].parent.parent.parent}"]
    if hidden is not None:
        arguments.append(f"-opythonpath={shlex.quote(str(hidden.parent))}")
    printed = io.StringIO()
    with contextlib.ExitStack() as pytest_is_open:
        with _quiet(printed):
            try:
                session = pytest_is_open.enter_context(_session(arguments, printed))
                if not session.testsfailed and session.items:
                    found = Suites(assignment, map(_function, session.items))
            except pytest.UsageError as error:
                print(f"ERROR: {error}", file=printed)
                session = None
        if session is None or session.testsfailed or not session.items:
            pytest_is_open.close()  # which has pytest print what is wrong with them
            words = printed.getvalue()[-3000:]
            raise SuiteFault(f"the suite of {assignment.id} cannot be run:\n{words}")
        yield found


def warm_up() -> None:
    """Import what pytest imports late, once for every process that will be forked."""
    with _quiet(io.StringIO()):
        pytest.main([*_ARGUMENTS, "--help"])  # --version would return before any plugin is loaded


def _function(item: pytest.Item) -> pytest.Function:
    assert isinstance(item, pytest.Function)
    return item


@contextlib.contextmanager
def _session(arguments: list[str], printed: io.StringIO) -> Iterator[pytest.Session]:
    """A session of pytest's that has collected, and ends when this is left.

    As ``pytest.main`` begins and ends one, which would run the items in between and come back only
    when none of them can be run any more.
    """
    config = _prepareconfig([*_ARGUMENTS, *arguments])
    try:
        config._do_configure()
        session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
        try:
            yield session
        finally:
            code = pytest.ExitCode.TESTS_FAILED if session.testsfailed else pytest.ExitCode.OK
            with _quiet(printed):
                config.hook.pytest_sessionfinish(session=session, exitstatus=code)
    finally:
        config._ensure_unconfigure()


@contextlib.contextmanager
def _quiet(printed: io.StringIO) -> Iterator[None]:
    """Let pytest print nothing but to ``printed``, take no other plugins and leave no files.

    A compiled suite would still be taken for a suite of its size and second: one that is saved
    twice within a second, as scripts do, would go on being graded as it was.
    """
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    name = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    autoload = os.environ.get(name)
    os.environ[name] = "1"
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
    finally:
        sys.dont_write_bytecode = bytecode
        if autoload is None:
            del os.environ[name]
        else:
            os.environ[name] = autoload
