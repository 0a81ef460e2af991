"""Counterexamples a student may see: their results beside the expected ones, on public inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from grader.report.model import Evidence
from grader.sandbox.errors import WorkerLost
from grader.session.assertions import assert_close
from grader.session.bench import Bench
from grader.session.checks import declared_demonstration
from grader.session.errors import CheckFailure, GraderFault, StudentError
from grader.session.outcomes import outcome_of

MAX_NUMBERS = 256
Demonstration = Callable[[Any], dict[str, torch.Tensor]]


def demonstrations(module: Any) -> dict[str, Demonstration]:
    """The demonstrations of a public suite by title, in the order they are written."""
    found = {}
    for thing in list(vars(module).values()):
        title = declared_demonstration(thing)
        if title is not None:
            found[title] = thing
    return found


def collect_evidence(bench: Bench, found: dict[str, Demonstration]) -> dict[str, list[Evidence]]:
    """Where the student's results differ from the reference's, by demonstration title.

    In a fresh worker: one that has served hidden checks could show their inputs here.
    """
    bench.discard()
    evidence = {}
    for title, run in found.items():
        evidence[title] = _differences(bench, title, run)
        bench.constants.restore()
    return evidence


def expected_results(bench: Bench, run: Demonstration) -> dict[str, torch.Tensor]:
    """What the reference gives; raises GraderFault where it fails."""
    try:
        return run(bench.model_student)
    except (StudentError, CheckFailure) as error:
        raise GraderFault(f"the reference failed in a demonstration: {error}") from None


def _differences(bench: Bench, title: str, run: Demonstration) -> list[Evidence]:
    bench.begin(title)
    expected = expected_results(bench, run)
    try:
        yours = run(bench.student)
    except WorkerLost:
        bench.discard()
        return []
    except Exception as error:
        outcome = outcome_of(error, bench.submission)
        words = " ".join(part for part in (outcome.message, outcome.detail) if part)
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
