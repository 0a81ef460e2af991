"""Misconceptions are named from behaviour alone, and never a wrong one."""

from __future__ import annotations

import random
import tomllib
from functools import cache
from types import ModuleType

import pytest

from grader.course.model import Assignment
from grader.diagnosis.catalogue import Catalogue
from grader.session.checks.source import SourceContext
from grader.session.diagnosis.diagnosing import FaultModules, diagnose

from ..suites import ASSIGNMENTS, ROOT, suites_of
from .rewriting import rewritten


def suite_of(assignment: Assignment) -> ModuleType:
    suite = suites_of(assignment.id).hidden
    assert suite is not None
    return suite


@cache
def modules_of(name: str) -> FaultModules:
    assignment = ASSIGNMENTS[name]
    return FaultModules(suite_of(assignment), assignment)


def named(assignment: Assignment, source: str, seconds: float = 1.0) -> list[str]:
    context = SourceContext(assignment, source, seed=1)
    modules = modules_of(assignment.id)
    found = diagnose(context, suite_of(assignment), seconds=seconds, modules=modules)
    return [slug for diagnosis, _ in found for slug in diagnosis.faults]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_no_fault_is_named_wrongly_and_most_of_attention_are_named(name: str) -> None:
    assignment = ASSIGNMENTS[name]
    catalogue = Catalogue(assignment)
    faults = random.Random(5).sample(list(catalogue), 3)
    if name == "attention":
        faults = random.Random(5).sample(list(catalogue), 20)

    # No time for pairs: here every submission has one fault.
    results = {
        fault.slug: named(assignment, rewritten(catalogue.build(fault) or ""), seconds=0)
        for fault in faults
    }

    wrong = {slug: found for slug, found in results.items() if found and slug not in found}
    unnamed = [slug for slug, found in results.items() if not found]
    assert wrong == {}
    if name == "attention":
        assert len(unnamed) <= 2, unnamed


def test_several_faults_at_once_are_never_named_wrongly_and_mostly_named() -> None:
    assignment = ASSIGNMENTS["attention"]
    catalogue = Catalogue(assignment)
    several = random.Random(3).sample(list(catalogue.pairs()), 4)

    unnamed = 0
    for faults in several:
        found = named(assignment, rewritten(catalogue.build(*faults) or ""))
        # Where one fault hides the other, naming the one that shows is right.
        assert not found or {fault.slug for fault in faults} & set(found), (faults, found)
        unnamed += not found

    assert unnamed <= 1


def test_the_corpus_is_named_as_expected_and_nothing_else_is_claimed() -> None:
    assignment = ASSIGNMENTS["attention"]
    corpus = ROOT / "tests" / "submissions" / "attention"
    expected = tomllib.loads((corpus / "expected.toml").read_text("utf-8"))
    names = [name for name in expected if name.startswith("seeds/")]
    names += random.Random(1).sample([name for name in expected if name not in names], 15)

    found = {name: named(assignment, (corpus / name).read_text("utf-8")) for name in names}

    allowed = {name: set(expected[name].get("misconception", "").split(" + ")) for name in names}
    claimed = {name: set(slugs) for name, slugs in found.items() if slugs}
    assert {name: slugs for name, slugs in claimed.items() if not slugs & allowed[name]} == {}
    nameable = [name for name in names if allowed[name] != {""}]
    assert sum(name in claimed for name in nameable) >= 0.9 * len(nameable)


def test_several_faults_of_one_printed_snippet_are_named_together() -> None:
    assignment = ASSIGNMENTS["attention"]
    source = (ROOT / "tests/submissions/attention/seeds/raw_scores.py").read_text("utf-8")

    assert set(named(assignment, source)) == {
        "no-scale",
        "no-softmax",
        "mask-zero-fill",
        "fully-masked-nan",
    }


def test_a_known_fault_beside_an_unknown_one_is_named_and_is_not_said_to_be_all() -> None:
    assignment = ASSIGNMENTS["attention"]
    catalogue = Catalogue(assignment)
    source = catalogue.build(catalogue["softmax-over-queries"])
    assert source is not None
    source = source.replace("allowed = mask != 0", "allowed = (mask != 0).flip(-1)")

    [(diagnosis, _)] = diagnose(
        SourceContext(assignment, source, seed=1), suite_of(assignment), seconds=1.0
    )

    assert diagnosis.faults == ["softmax-over-queries"]
    assert not diagnosis.complete


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_probe_works_on_the_reference(name: str) -> None:
    modules = modules_of(name)
    source = Catalogue(ASSIGNMENTS[name]).source

    seen = [modules.observe(source, number) for number in range(len(modules.prober))]

    # An error without a message was raised on purpose.
    assert [f"{one.error}: {one.message}" for one in seen if one.message] == []


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


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ("mla/wrong/latent_comes_first.py", "returns-latent-first"),
        ("attention/broken/returns_swapped.py", "swapped-pair"),
    ],
)
def test_a_wrong_shape_in_a_probe_is_the_behaviour_of_the_fault_that_gives_it(file, fault) -> None:
    assignment = ASSIGNMENTS[file.split("/")[0]]
    source = (ROOT / "tests" / "submissions" / file).read_text("utf-8")
    context = SourceContext(assignment, source, seed=1)

    found = diagnose(context, suite_of(assignment), modules=modules_of(assignment.id))

    assert [(diagnosis.faults, diagnosis.complete) for diagnosis, _ in found] == [([fault], True)]
