"""Misconceptions are named from behaviour alone, and never a wrong one."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from grader.audit.cases import SourceBench, collect
from grader.course.loading import load_course
from grader.course.model import Assignment
from grader.diagnosis.catalogue import Catalogue
from grader.session.diagnosing import diagnose

from .rewriting import rewritten

ROOT = Path(__file__).parents[2]
ASSIGNMENTS = load_course(ROOT).assignments


def suite_of(assignment: Assignment) -> ModuleType:
    return sys.modules[collect(assignment)[-1].function.__module__]


def named(assignment: Assignment, source: str, seconds: float = 1.0) -> list[str]:
    bench = SourceBench(assignment, source, seed=1)
    found = diagnose(bench, suite_of(assignment), seconds=seconds)
    return found[0][0].faults if found else []


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_no_fault_is_named_wrongly_and_most_of_attention_are_named(name: str) -> None:
    assignment = ASSIGNMENTS[name]
    catalogue = Catalogue(assignment)
    faults = list(catalogue)
    if name != "attention":
        faults = random.Random(5).sample(faults, min(6, len(faults)))

    # No time for pairs: here every submission has one fault.
    results = {
        fault.slug: named(assignment, rewritten(catalogue.build(fault) or ""), seconds=0)
        for fault in faults
    }

    wrong = {slug: found for slug, found in results.items() if found and slug not in found}
    unnamed = [slug for slug, found in results.items() if not found]
    assert wrong == {}
    if name == "attention":
        assert len(unnamed) <= len(results) // 5, unnamed


def test_pairs_of_faults_are_never_named_wrongly() -> None:
    assignment = ASSIGNMENTS["attention"]
    catalogue = Catalogue(assignment)
    pairs = random.Random(3).sample(list(catalogue.pairs()), 5)

    for first, second in pairs:
        found = named(assignment, rewritten(catalogue.build(first, second) or ""))
        # Where one fault hides the other, naming the one that shows is right.
        assert not found or {first.slug, second.slug} & set(found), (first.slug, second.slug)


def test_a_right_answer_gets_no_claim() -> None:
    assignment = ASSIGNMENTS["attention"]

    assert named(assignment, rewritten(Catalogue(assignment).source)) == []


def test_a_fault_that_nobody_knows_gets_no_claim() -> None:
    assignment = ASSIGNMENTS["attention"]
    source = Catalogue(assignment).source.replace(
        "weights = scores.softmax(dim=-1)",
        "weights = (scores + torch.linspace(0, 1, scores.shape[-1])).softmax(dim=-1)",
    )

    assert named(assignment, source, seconds=0.3) == []
