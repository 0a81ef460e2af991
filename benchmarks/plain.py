"""What there would be without this project: the same checks, the student's file simply imported.

A pytest plugin that takes the place of the grader's own. No process split, no limits, no retry, no
report; the code under test runs in the process that holds the tests.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader.session.checks.draw import Draw
from grader.session.errors import student_error
from grader.wire.messages import Raised


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plain-student", type=Path, required=True)
    parser.addoption("--plain-reference", type=Path, required=True)


class Plain:
    """The exports of a module, whose errors are raised as suites expect them."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, name)

        def call(*given: Any, **options: Any) -> Any:
            try:
                return function(*given, **options)
            except Exception as error:
                bases = [base.__name__ for base in type(error).__mro__]
                raised = Raised(
                    kind="raised", type=bases[0], bases=bases, message=str(error), frame=None
                )
                raise student_error(raised) from None

        return call


def load(path: Path, name: str) -> Plain:
    """Import the file at ``path``."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Plain(module)


@pytest.fixture(scope="session")
def student(request: pytest.FixtureRequest) -> Plain:
    return load(request.config.getoption("--plain-student"), "plain_student")


@pytest.fixture(scope="session")
def reference(request: pytest.FixtureRequest) -> Plain:
    return load(request.config.getoption("--plain-reference"), "plain_reference")


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(0, request.node.name)


@pytest.fixture
def forbidden_uses() -> list[Any]:
    return []
