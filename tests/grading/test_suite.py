"""The suite of ``attention`` on answers that are known to be right, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.course.model import Assignment
from grader.report.model import Status
from grader.session.checks.cases import run_checks
from grader.session.checks.outcomes import Outcome
from grader.session.checks.source import SourceContext

from ..suites import ASSIGNMENTS, ROOT, suites_of

SEEDS = int(os.environ.get("GRADE_SEEDS", "5"))
"""Under how many seeds right answers have to be right; CI asks for more."""

ACCEPTED = sorted((ROOT / "solutions" / "attention" / "accepted").glob("*.py"))


@pytest.fixture
def assignment() -> Assignment:
    return ASSIGNMENTS["attention"]


@pytest.fixture
def run(assignment):
    def run_on(path: Path, seed: int) -> dict[str, Outcome]:
        context = SourceContext(assignment, path.read_text(), seed=seed)
        return run_checks(suites_of("attention").cases, context)

    return run_on


def lost(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {
        name: f"{outcome.message} {outcome.detail}"
        for name, outcome in outcomes.items()
        if not outcome.passed
    }


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_right_answers_are_right_under_every_seed(run, path):
    for seed in range(SEEDS):
        assert lost(run(path, seed)) == {}, seed


def test_there_are_enough_of_them():
    assert len(ACCEPTED) >= 8


def test_the_stub_is_not_started(run, assignment):
    outcomes = run(assignment.stub, 0)
    assert {outcome.status for outcome in outcomes.values()} == {Status.NOT_STARTED}
