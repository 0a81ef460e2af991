"""Counterexamples for students: their results beside the expected ones, on public inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from grader.report.model import Evidence
from grader.session.checks.assertions import assert_close
from grader.session.checks.context import CheckContext
from grader.session.checks.declaring import Demonstration, declared_demonstration
from grader.session.checks.outcomes import outcome_of
from grader.session.errors import CheckFailure, GraderFault, StudentError
from grader.wire.errors import WorkerLost, WorkerTimeout

MAX_NUMBERS = 256
Run = Callable[[Any], dict[str, torch.Tensor]]


class Exhibit(NamedTuple):
    """A demonstration, and where the student's results on it differ."""

    demonstration: Demonstration
    evidence: list[Evidence]


def demonstrations(module: Any) -> dict[Demonstration, Run]:
    """The demonstrations of a public suite, in the order they are written."""
    found = {}
    for thing in list(vars(module).values()):
        declared = declared_demonstration(thing)
        if declared is not None:
            found[declared] = thing
    return found


def collect_exhibits(context: CheckContext, found: dict[Demonstration, Run]) -> Iterator[Exhibit]:
    """Where the student's results differ from the reference's, for each demonstration.

    Code that does not end is not waited for twice: raises WorkerTimeout.
    """
    for demonstration, run in found.items():
        yield Exhibit(demonstration, _differences(context, demonstration, run))
        context.constants.restore()


def expected_results(context: CheckContext, run: Run) -> dict[str, torch.Tensor]:
    """What the reference gives; raises GraderFault where it fails."""
    try:
        return run(context.model_student)
    except (StudentError, CheckFailure) as error:
        raise GraderFault(f"the reference failed in a demonstration: {error}") from None


def _differences(context: CheckContext, shown: Demonstration, run: Run) -> list[Evidence]:
    title = shown.title
    context.begin(title)
    expected = expected_results(context, run)
    try:
        yours = run(context.student)
    except WorkerTimeout:
        raise
    except WorkerLost:
        context.discard()
        return []
    except Exception as error:
        outcome = outcome_of(error, context.submission)
        # Of another error the detail is a traceback of the demonstration, not of their code.
        told = isinstance(error, StudentError | CheckFailure)
        words = " ".join(part for part in (outcome.message, outcome.detail * told) if part)
        name, wanted = next(iter(expected.items()))
        return [
            Evidence(demonstration=title, name=name, yours=words, expected=plain_numbers(wanted))
        ]
    return [
        Evidence(
            demonstration=title,
            name=name,
            yours=plain_numbers(yours[name]),
            expected=plain_numbers(wanted),
            shows=shown.kind_of(name),
        )
        for name, wanted in expected.items()
        if not _same(yours[name], wanted)
    ]


def _same(yours: Any, expected: torch.Tensor) -> bool:
    if not isinstance(yours, torch.Tensor) or yours.is_complex() or yours.is_meta:
        return False
    try:
        assert_close(yours, expected, "")
    except CheckFailure:
        return False
    return True


def plain_numbers(tensor: Any, digits: int = 4) -> Any:
    """Nested lists of rounded numbers; text for what a list of numbers cannot hold."""
    if not isinstance(tensor, torch.Tensor):
        return "no tensor"
    if tensor.is_meta or tensor.numel() > MAX_NUMBERS:
        return f"a tensor of shape {tuple(tensor.shape)}"
    if tensor.dtype.is_complex:
        return "complex numbers"
    return _rounded(tensor.detach().double().tolist(), digits)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_rounded(item, digits) for item in value]
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    return round(value, digits)
