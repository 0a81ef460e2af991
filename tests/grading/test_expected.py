"""What the suites say of every submission under ``tests/submissions``, as ``expected.toml`` has it.

Most are trusted source and run in this process; a few of each assignment go through the real ones.
"""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from typing import Any

import pytest

from grader.report.model import Status
from grader.session.checks.cases import Case, run_case
from grader.session.checks.outcomes import Outcome
from grader.session.checks.source import SourceContext
from grader.session.diagnosis.diagnosing import FaultModules, diagnose

from ..suites import ASSIGNMENTS, ROOT, suites_of

THOROUGH = bool(os.environ.get("GRADE_SEEDS"))
"""Whether every case of a check is tried on what has to be kept, and every name asked for; else the
first case, without training, and the names of the seeds."""
SEED = 3
CORPUS = ROOT / "tests" / "submissions"


def expectations() -> dict[str, dict[str, Any]]:
    """What is expected of each submission, by assignment and file, such as ``mha/wrong/x.py``."""
    return {
        f"{assignment}/{name}": expected
        for assignment in ASSIGNMENTS
        for name, expected in tomllib.loads(
            (CORPUS / assignment / "expected.toml").read_text("utf-8")
        ).items()
    }


EXPECTED = expectations()
GRADED = [name for name, expected in EXPECTED.items() if expected.get("graded")]
NAMED = [
    name
    for name, expected in EXPECTED.items()
    if "misconception" in expected and (THOROUGH or "/seeds/" in name)
]


def cases_of(assignment: str) -> list[Case]:
    return suites_of(assignment).cases


def context_of(name: str, seed: int) -> SourceContext:
    source = (CORPUS / name).read_text("utf-8")
    return SourceContext(ASSIGNMENTS[name.split("/")[0]], source, seed=seed)


def losses(name: str) -> dict[str, dict[str, Outcome]]:
    """Failed checks by family and id, as far as they are needed to decide what is expected."""
    expected, context = EXPECTED[name], context_of(name, SEED)
    lost: dict[str, dict[str, Outcome]] = {}
    seen: set[str] = set()
    for case in cases_of(name.split("/")[0]):
        family = case.check.family
        wanted = family in expected["wrong"] and family not in lost
        quick = case.check_id not in seen and family != "training"
        kept = family in expected["keeps"] and (THOROUGH or quick)
        seen.add(case.check_id)
        if (wanted or kept) and not (outcome := run_case(case, context)).passed:
            lost.setdefault(family, {})[case.check_id] = outcome
    return lost


def words(outcome: Outcome) -> str:
    return f"{outcome.message} {outcome.detail}"


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_every_submission_is_expected(assignment):
    folder = CORPUS / assignment
    files = {
        f"{kind}/{path.name}"
        for kind in ("wrong", "seeds")
        for path in (folder / kind).glob("*.py")
    }
    names = {
        name.removeprefix(f"{assignment}/")
        for name in EXPECTED
        if name.startswith(f"{assignment}/")
    }
    assert names == files


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_lost_kept_and_said(name):
    expected = EXPECTED[name]
    lost = losses(name)
    assert set(expected["wrong"]) <= lost.keys()
    assert {
        check: words(outcome)
        for family in expected["keeps"]
        for check, outcome in lost.get(family, {}).items()
    } == {}
    if "says" in expected and "misconception" not in expected:
        said = [words(outcome) for checks in lost.values() for outcome in checks.values()]
        assert any(re.search(expected["says"], text) for text in said), said


@cache
def modules_of(assignment: str) -> FaultModules:
    return FaultModules(suites_of(assignment).hidden, ASSIGNMENTS[assignment])


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named(name):
    expected = EXPECTED[name]
    believed = set(expected["misconception"].split(" + "))
    modules = modules_of(name.split("/")[0])
    found = diagnose(context_of(name, SEED), None, seconds=0.3, modules=modules)
    faults = {slug for diagnosis, _ in found for slug in diagnosis.faults}
    # How many pairs there is time for depends on the machine.
    if len(believed) == 1 and expected.get("named", True):
        assert believed <= faults
        assert re.search(expected.get("says", ""), found[0][0].message)
    else:
        assert not faults or believed & faults


@pytest.mark.parametrize("name", GRADED)
def test_what_the_real_processes_say(name, grade):
    expected = EXPECTED[name]
    assignment = name.split("/")[0]
    report = grade(CORPUS / name, ROOT, assignment)
    lost = {check.family for check in report.checks if check.status != Status.PASSED}
    assert set(expected["wrong"]) <= lost
    assert not lost & set(expected["keeps"])
    said = [f"{check.message} {check.detail}" for check in report.checks]
    said += [f"{' + '.join(entry.faults)}: {entry.message}" for entry in report.diagnosis]
    assert any(re.search(expected.get("says", ""), text) for text in said)
    if "misconception" in expected:
        named = {slug for diagnosis in report.diagnosis for slug in diagnosis.faults}
        assert set(expected["misconception"].split(" + ")) <= named
