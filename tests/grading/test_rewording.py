"""What is said decides nothing: with every message in other words, all points and causes stay."""

from __future__ import annotations

import pytest

from grader.course.loading import load_course
from grader.report.model import Visibility
from grader.session.checks.cases import SourceContext, collect, run_case
from grader.session.checks.scoring import Expected, score
from grader.session.diagnosis.working import Work
from grader.session.errors import CheckFailure

from .conftest import ROOT

ASSIGNMENTS = load_course(ROOT).assignments
SAID = CheckFailure.__init__


def reworded(self, message, detail=""):
    """The same in other words; figures keep their order, as they are data."""
    SAID(self, message[::-1].upper() or "?", f"<{detail.replace('expected', 'due')}>")


def verdicts(assignment, source, idle):
    """Status, points and cause of each check."""
    context = SourceContext(assignment, source, seed=3)
    cases = collect(assignment)
    outcomes = {case.name: run_case(case, context) for case in cases}
    by_check = {}
    for case in cases:
        by_check.setdefault(case.check_id, []).append(case)
    expected = [
        Expected(id=id, check=of[0].check, visibility=Visibility.HIDDEN, cases=[c.name for c in of])
        for id, of in by_check.items()
    ]
    results = score(expected, outcomes, [], idle=idle)
    return [(one.id, one.status, one.earned, one.because) for one in results]


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
    assert sum(because is not None for *_, because in before) >= 3
