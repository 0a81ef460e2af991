"""What is said decides nothing: with every message in other words, all points and causes stay."""

from __future__ import annotations

import pytest

from grader.session.checks.cases import run_case
from grader.session.checks.scoring import score
from grader.session.checks.source import SourceContext
from grader.session.diagnosis.working import Work
from grader.session.errors import CheckFailure

from ..suites import ASSIGNMENTS, suites_of

SAID = CheckFailure.__init__


def reworded(self, message, detail=""):
    """The same in other words; figures keep their order, as they are data."""
    SAID(self, message[::-1].upper() or "?", f"<{detail.replace('expected', 'due')}>")


def verdicts(assignment, source, idle):
    """Status, points and cause of each check."""
    context = SourceContext(assignment, source, seed=3)
    suites = suites_of(assignment.id)
    outcomes = {case.id: run_case(case, context) for case in suites.cases}
    results = score(suites.expected, outcomes, [], idle=idle)
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
