"""What is said decides nothing: with every message in other words, all points and causes stay."""

from __future__ import annotations

import pytest

from grader.session.checks.cases import run_case
from grader.session.checks.scoring import by_depth, score, worst
from grader.session.checks.source import SourceContext
from grader.session.diagnosis.consequences import Failure, with_consequences
from grader.session.diagnosis.diagnosing import named, observed
from grader.session.diagnosis.working import Work
from grader.session.errors import CheckFailure, Measured

from ..suites import ASSIGNMENTS, suites_of
from .test_expected import CORPUS, modules_of

SAID = CheckFailure.__init__


def reworded(self, message, detail=""):
    """The same in other words, figures too; what was measured stays."""
    words = Measured(detail.translate(str.maketrans("0123456789", "abcdefghij"))[::-1].upper())
    words.numbers = detail.numbers if isinstance(detail, Measured) else ()
    SAID(self, message[::-1].upper() or "?", words)


def verdicts(assignment, source, idle, modules=None):
    """Status, points and cause of each check, and what each misconception explains."""
    context = SourceContext(assignment, source, seed=3)
    suites = suites_of(assignment.id)
    outcomes = {case.id: run_case(case, context) for case in suites.cases}
    cases: dict[str, list] = {}
    for case in suites.cases:
        cases.setdefault(case.check_id, []).append(case)
    diagnoses = []
    if modules is not None:
        failures = [
            Failure(id=entry.id, outcome=outcome, cases=cases[entry.id])
            for entry in by_depth(suites.expected)
            if (outcome := worst(entry, outcomes)).is_wrong
        ]
        found = named(observed(context, modules), modules, seconds=1.0)
        diagnoses = with_consequences(
            found, failures, modules.catalogue, assignment, seed=3, seconds=1e6
        )
    results = score(suites.expected, outcomes, [], diagnoses, idle)
    explained = [(one.faults, one.checks, one.complete) for one in diagnoses]
    return [(one.id, one.status, one.earned, one.because) for one in results], explained


SHAPES = "def causal_mask(*a, **o):\n    return torch.ones(1, 1, 1, dtype=torch.bool)\n"
NOTHING = "def scaled_dot_product_attention(query, key, value, mask=None):\n    query @ key.mT\n"
TURNED = """
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = (query @ key.transpose(-2, -1)).softmax(-1)
    return (weights @ value).transpose(-2, -1), weights.transpose(-2, -1)
"""


@pytest.mark.parametrize(
    ("id", "source", "idle"),
    [
        ("masks", SHAPES, {}),
        ("attention", TURNED, {}),
        ("attention", NOTHING, {"scaled_dot_product_attention": Work.NOTHING}),
    ],
    ids=["wrong shapes", "transposed", "nothing returned"],
)
def test_in_other_words_the_verdict_is_the_same(id, source, idle, monkeypatch):
    source = f"import torch\n{source}"
    before = verdicts(ASSIGNMENTS[id], source, idle)
    monkeypatch.setattr(CheckFailure, "__init__", reworded)
    assert verdicts(ASSIGNMENTS[id], source, idle) == before
    assert sum(because is not None for *_, because in before[0]) >= 3


@pytest.mark.parametrize(
    "name",
    [
        "attention/wrong/no_scale.py",
        "attention/wrong/changes_query.py",
        "masks/seeds/additive.py",
        "gqa/seeds/mask_of_items_not_lifted.py",
        "gqa/seeds/kv_width_over_groups.py",
    ],
)
def test_in_other_words_a_misconception_explains_the_same(name, monkeypatch):
    id = name.split("/")[0]
    source = (CORPUS / name).read_text("utf-8")
    before = verdicts(ASSIGNMENTS[id], source, {}, modules_of(id))
    monkeypatch.setattr(CheckFailure, "__init__", reworded)
    assert verdicts(ASSIGNMENTS[id], source, {}, modules_of(id)) == before
    assert before[1], "a misconception is named"
    assert any(checks for _, checks, _ in before[1]), "and explains something"
