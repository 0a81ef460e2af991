"""Options that several commands have."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import click

_NO = ("", "0", "false", "no", "off")


def is_on(variable: str) -> bool:
    """Whether an environment variable is set to anything that does not mean no."""
    return os.environ.get(variable, "").strip().lower() not in _NO


def _default_sandbox() -> str:
    """In CI nobody would read that something was not enforced."""
    return "require" if is_on("CI") else "auto"


sandbox = click.option(
    "--sandbox",
    type=click.Choice(["auto", "require", "off"]),
    default=_default_sandbox,
    show_default="auto; require where CI is set",
    help="How to confine submissions: as far as possible, fully (or exit with 3), or not at all.",
)

isolate = click.option(
    "--isolate",
    is_flag=True,
    envvar="GRADE_ISOLATE",
    help="Use bubblewrap to hide even that other files exist (or exit with 3). Starts more slowly.",
)

assignment = click.option(
    "--assignment",
    metavar="ID",
    help="Assignment of the submissions, if their names do not tell.",
)

course = click.option(
    "--course",
    metavar="DIR",
    help="Folder of the course (default: the course that holds this folder).",
)

seed = click.option(
    "--seed", type=click.IntRange(0, 2**53 - 1), help="Seed of a report whose inputs to repeat."
)

timeout = click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time limit of one check.",
)

public_only = click.option(
    "--public", "public_only", is_flag=True, help="Run only the public checks."
)

chain = click.option(
    "--chain",
    is_flag=True,
    help="Let files import the same folder's files for earlier assignments (`from attention import "
    "...`). By default every file is graded alone.",
)


beside = click.option(
    "--with",
    "beside",
    metavar="FOLDER",
    help="Let a file import from this folder. By default a file is graded alone.",
)


def grading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that grades, which gets them as ``grading``, an ``Options``."""

    @functools.wraps(command)
    def with_options(
        *words: Any,
        seed: int | None,
        timeout: float | None,
        public_only: bool,
        sandbox: Any,
        isolate: bool,
        chain: bool,
        **others: Any,
    ) -> Any:
        from grader.jobs.protocol import Options

        grading = Options(
            seed=seed,
            check_seconds=timeout,
            public_only=public_only,
            sandbox=sandbox,
            isolate=isolate,
            chain=chain,
        )
        return command(*words, grading=grading, **others)

    decorated: Callable[..., Any] = with_options
    for option in (chain, isolate, sandbox, public_only, timeout, seed):
        decorated = option(decorated)
    return decorated
