"""Students to call, each with a submission and a declaration of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.course.model import Assignment, Export, Limits
from grader.session.checks.context import CheckContext, submission_context
from grader.session.student.proxy import Student
from grader.workers.forked import ForkServer

HandIn = Callable[..., Student]


class Contexts:
    """Makes contexts for sources; ``last`` is the latest."""

    def __init__(self, server: ForkServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._numbers = itertools.count()
        self.made: list[CheckContext] = []

    @property
    def last(self) -> CheckContext:
        return self.made[-1]

    def __call__(
        self,
        source: str,
        *,
        forbidden: list[str] | None = None,
        helpers: dict[str, str] | None = None,
        limits: dict[str, Any] | None = None,
        begin: bool = True,
        **exports: dict[str, Any],
    ) -> Student:
        """A student for ``source``; ``exports`` says how each export is declared."""
        number = next(self._numbers)
        folder = self._folder / f"submission{number}"
        folder.mkdir()
        (folder / "work.py").write_text(source, "utf-8")
        for name, text in (helpers or {}).items():
            (folder / name).write_text(text, "utf-8")
        assignment = Assignment(
            id="work",
            title="Work",
            file="work.py",
            exports=msgspec.convert(exports, dict[str, Export]),
            forbidden=forbidden or [],
            limits=msgspec.convert(limits or {}, Limits),
            directory=self._folder,
            public_suite=self._folder / "test_public.py",
            hidden_suite=None,
            reference=None,
        )
        staged = self._folder / f"staged{number}"
        context = submission_context(folder, assignment, staged, self._server, seed=3)
        self.made.append(context)
        if begin:
            context.begin("a check")
        return context.student


@pytest.fixture
def hand_in(fork_server: ForkServer, tmp_path: Path) -> Iterator[Contexts]:
    contexts = Contexts(fork_server, tmp_path)
    yield contexts
    for context in contexts.made:
        context.discard()
