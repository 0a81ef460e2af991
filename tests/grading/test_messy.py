"""Right answers, and nearly right ones, written the way that people write them in a hurry."""

from __future__ import annotations

import pytest

from grader.report.model import Report, Status

from .conftest import ROOT

ATTENTION = """
import math
import torch
{before}
def scaled_dot_product_attention(query, key, value, mask=None):
    {first}
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        allowed = mask != 0
        if not allowed.is_meta and not allowed.any(dim=-1).all():
            raise ValueError("a query has no key")
        scores = scores.masked_fill(~allowed, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
{after}
"""


def attention(first: str = "pass", *, before: str = "", after: str = "") -> str:
    return ATTENTION.format(first=first, before=before, after=after)


@pytest.fixture
def graded(grade, hand_in):
    """The student's report on a source for ``attention``."""
    return lambda source: grade(hand_in(source), ROOT).for_student()


def lost(report: Report) -> set[str]:
    return {check.family for check in report.checks if check.status is not Status.PASSED}


def words(report: Report) -> str:
    said = [*report.notes, *(check.message for check in report.checks)]
    return " ".join([*said, *(one.message for one in report.diagnosis)])


class TestInputsThatAreWrittenTo:
    """The check of just that is lost, and what autograd refuses; nothing else, and no more."""

    @pytest.mark.parametrize(
        ("first", "families"),
        [
            ("query += 1; query -= 1; query *= 2; query /= 2", {"purity", "gradient"}),
            # One check has a key that was expanded, which torch does not let be written to.
            ("key.mul_(0.5); query = query * 2", {"purity", "gradient", "layout"}),
            ("value *= 2; value = value / 2", {"purity", "gradient"}),
            ("value[:] = value + 1; value = value - 1", {"purity", "gradient"}),
            ("query.data.add_(1); query = query - 1", {"purity"}),
            ("value.detach().add_(1); value = value - 1", {"purity"}),
            ("mask is not None and mask.bitwise_or_(torch.zeros_like(mask)).ne_(0)", {"purity"}),
        ],
    )  # fmt: skip
    def test_cost_what_they_cost(self, graded, first, families):
        report = graded(attention(first))
        assert lost(report) <= families
        assert "purity" in lost(report)
        assert "wrote into its input" in words(report)
        if "gradient" in lost(report):
            assert "while gradients of it are asked for; torch refuses that" in words(report)
        for untrue in ("backward still needs", "leaks", "Changing one item", "allowed the result"):
            assert untrue not in words(report)
