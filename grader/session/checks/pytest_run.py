"""Running pytest on suites inside this process, untouched by whatever else is installed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from grader.course.model import Assignment
from grader.session.errors import SuiteFault

_ARGUMENTS = (
    f"-c{os.devnull}",
    "--import-mode=importlib",
    "--noconftest",
    "--assert=plain",
    "--tb=native",
    "-pgrader.session.checks.plugin",
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


def run_suites(
    assignment: Assignment, *arguments: str, plugin: Any, public_only: bool = False
) -> None:
    """Run the suites of an assignment, public ones first, with ``plugin``.

    Raises SuiteFault, with what pytest printed, for suites that cannot be run.
    """
    suites = [assignment.public_suite]
    hidden = assignment.hidden_suite
    if hidden is not None and not public_only:
        suites.append(hidden)
    code, printed = _pytest(
        *map(str, suites),
        f"--rootdir={suites[0].parent.parent.parent}",
        *([f"-opythonpath={hidden.parent}"] if hidden is not None else []),
        *arguments,
        plugin=plugin,
    )
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SuiteFault(f"the suite of {assignment.id} cannot be run:\n{printed[-3000:]}")


def warm_up() -> None:
    """Import what pytest imports late, once for every process that will be forked."""
    _pytest("--help", plugin=None)  # --version would return before any plugin is loaded


def _pytest(*arguments: str, plugin: Any) -> tuple[int, str]:
    printed = io.StringIO()
    plugins = [] if plugin is None else [plugin]
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        _no_other_plugins(),
        _no_bytecode(),
    ):
        code = pytest.main([*_ARGUMENTS, *arguments], plugins=plugins)
    return code, printed.getvalue()


@contextlib.contextmanager
def _no_bytecode() -> Iterator[None]:
    """Leave no compiled suite behind: it would still be taken for a suite of its size and second.

    A suite that is saved twice within a second, as scripts do, would go on being graded as it was.
    """
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextlib.contextmanager
def _no_other_plugins() -> Iterator[None]:
    name = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
